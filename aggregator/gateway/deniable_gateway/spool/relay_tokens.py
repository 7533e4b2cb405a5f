"""The relays that may send more than one report at once to a keyless intake.

The consumer of the spool writes them into the notices: the SHA-256 of a token, which gives no
access, its expiry and its collections, and whether only relays may send. The intake refuses a
revoked token once it has read the next notices.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from deniable_gateway.errors import SpoolError
from deniable_gateway.upload.bearer import presented_hash

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class RelayToken:
    """A valid token by its hash. `collections` are the ids it is limited to, None for all."""

    hash: bytes
    expires: int | None = None
    collections: tuple[str, ...] | None = None

    def accepts(self, token_hash: bytes, collection: str | None, now: float) -> bool:
        """Whether this is the token, valid now, for this collection id (None: unknown)."""
        expired = self.expires is not None and now >= self.expires
        within = self.collections is None or collection in self.collections
        return hmac.compare_digest(self.hash, token_hash) and not expired and within


@dataclass(frozen=True, slots=True)
class RelayTokens:
    """The tokens of relays. `relays_only`: no other sender is accepted."""

    relays_only: bool
    tokens: tuple[RelayToken, ...] = ()

    def accept(self, header: str | None, collection: str | None, now: float) -> bool:
        """Whether an Authorization header has one of the tokens."""
        token_hash = presented_hash(header)
        return token_hash is not None and any(
            token.accepts(token_hash, collection, now) for token in self.tokens
        )

    def encode(self) -> bytes:
        tokens = [{**asdict(token), "hash": token.hash.hex()} for token in self.tokens]
        return json.dumps({"only": self.relays_only, "tokens": tokens}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the tokens in `data`: the inverse of `encode`.

        Raises SpoolError for anything else.
        """
        try:
            document = json.loads(data)
            return cls(bool(document["only"]), tuple(_token(each) for each in document["tokens"]))
        except (ValueError, TypeError, KeyError) as error:
            raise SpoolError(f"the relay tokens in the notices cannot be read: {error}") from error


def _token(row: Mapping[str, Any]) -> RelayToken:
    collections = row["collections"]
    limited = None if collections is None else tuple(collections)
    return RelayToken(bytes.fromhex(row["hash"]), row["expires"], limited)


NO_RELAYS = RelayTokens(relays_only=False)
"""Before a consumer has written any notices."""
