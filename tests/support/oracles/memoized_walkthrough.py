"""The memoized report that shared/PROTOCOL.md walks through, from fixed keys."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_shared.manifest.model import Manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire.codec import lp
from support.builders.manifests import memoized

HOLD_KEY, EPOCH_KEY = bytes(range(32)), bytes(range(32, 64))
VALUE = {"dark_mode": True, "beta": False}
EPOCH, HOLD = 20882, 1


@dataclass(frozen=True, slots=True)
class MemoizedWalkthrough:
    """A permanent answer, and the report of one epoch that renews it."""

    manifest: Manifest
    seed: bytes
    permanent: bytes
    renewal_seed: bytes
    payload: bytes

    @property
    def blocks(self) -> dict[str, bytes]:
        """The bytes of the document's hex blocks by name."""
        return {
            "permanent_coins": self.seed,
            "permanent": self.permanent,
            "renewal_coins": self.renewal_seed,
            "renewed": self.payload,
        }


def memoized_walkthrough() -> MemoizedWalkthrough:
    """The permanent answer of the second hold, renewed on its fourth day."""
    manifest = memoized()
    chain, value = manifest.chain(), manifest.domain.encode(VALUE)
    first = (b"deniable/1 coins", b"\x01", manifest.identity, HOLD.to_bytes(4, "big"), b"\x80")
    permanent = chain.memoize(value, Coins.derive(HOLD_KEY, *first))
    again = (b"deniable/1 coins", b"\x02", manifest.identity, EPOCH.to_bytes(4, "big"), permanent)
    return MemoizedWalkthrough(
        manifest=manifest,
        seed=b"".join(map(lp, (HOLD_KEY, *first))),
        permanent=permanent,
        renewal_seed=b"".join(map(lp, (EPOCH_KEY, *again))),
        payload=chain.rerandomize(permanent, Coins.derive(EPOCH_KEY, *again)),
    )
