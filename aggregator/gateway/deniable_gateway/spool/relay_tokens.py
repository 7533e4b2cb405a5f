"""The relays that a keyless intake may take more than one report from.

The consumer of the spool writes them into the notices: the SHA-256 of a token, which gives no
access, when it expires and which collections it is limited to; and whether reports come by relays
alone. A revoked token is refused once the intake has read the next notices.
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
    """A valid token by its hash; `collections` are the ids it is limited to, None for all."""

    hash: bytes
    expires: int | None = None
    collections: tuple[str, ...] | None = None

    def accepts(self, token_hash: bytes, collection: str | None, now: float) -> bool:
        """Whether that is it, and good now for the collection of this id, None for an unknown."""
        expired = self.expires is not None and now >= self.expires
        within = self.collections is None or collection in self.collections
        return hmac.compare_digest(self.hash, token_hash) and not expired and within


@dataclass(frozen=True, slots=True)
class RelayTokens:
    """`relays_only`: nobody else may send."""

    relays_only: bool
    tokens: tuple[RelayToken, ...] = ()

    def accept(self, header: str | None, collection: str | None, now: float) -> bool:
        """Whether an Authorization header carries one of the tokens."""
        token_hash = presented_hash(header)
        return token_hash is not None and any(
            token.accepts(token_hash, collection, now) for token in self.tokens
        )

    def encode(self) -> bytes:
        tokens = [{**asdict(token), "hash": token.hash.hex()} for token in self.tokens]
        return json.dumps({"only": self.relays_only, "tokens": tokens}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The inverse; SpoolError for anything else."""
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
