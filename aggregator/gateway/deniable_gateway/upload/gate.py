"""What is judged of an upload before a byte of its body is read: headers, token, rate.

A front calls the three steps in this order, and may take the second to another thread: a token is
looked up in a database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_gateway.upload.limiter import PrefixLimiter, network_prefix
from deniable_gateway.upload.request import content_length

if TYPE_CHECKING:
    from deniable_gateway.suspension import Suspension

IsRelay = Callable[[str, str], bool]
"""Whether an Authorization header carries a relay's token for a collection."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: the network whose rate pays, None where none does; a relay; a refused token."""

    prefix: str | None = None
    relay: bool = False
    token_refused: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """An upload whose body has come whole."""

    collection: str
    body: bytes
    sender: Sender


class UploadGate:
    """Thread-safe. Without a limiter a proxy limits networks."""

    def __init__(
        self,
        suspension: Suspension,
        limiter: PrefixLimiter | None,
        *,
        is_relay: IsRelay | None = None,
    ) -> None:
        """Without `is_relay` nobody has a token here, and what is called one is not looked at."""
        self._suspension = suspension
        self._limiter = limiter
        self._is_relay = is_relay

    @property
    def limits_networks(self) -> bool:
        """Whether addresses are those of senders, and not of a proxy."""
        return self._limiter is not None

    @property
    def knows_tokens(self) -> bool:
        """Whether an Authorization header means anything here."""
        return self._is_relay is not None

    def announced_length(self, content_type: str, announced: str) -> int:
        """The length of a body that may be read; Problem for headers that are refused."""
        self._suspension.require_none()
        return content_length(content_type, announced)

    def is_relay(self, credential: str | None, collection: str) -> bool:
        """Whether the token is valid for this collection; may wait for a database."""
        if credential is None or self._is_relay is None:
            return False
        return self._is_relay(credential, collection)

    def admit(self, address: str, credential: str | None, *, relay: bool) -> Sender:
        """Charge the sender's network one report; Problem("too-many-requests") over its rate.

        Those of a relay are not charged. The others of one request are once they are counted.
        """
        refused = self.knows_tokens and credential is not None and not relay
        if relay or self._limiter is None:
            return Sender(None, relay, refused)
        prefix = network_prefix(address)
        self._limiter.admit(prefix)
        return Sender(prefix, relay, refused)
