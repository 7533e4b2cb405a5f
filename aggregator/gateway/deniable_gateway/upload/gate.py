"""The checks of an upload before its body is read: headers, token, rate.

A front calls the three steps in this order. It may call the second one in a thread, as a token is
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
"""Whether an Authorization header has a relay's token for a collection."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The network whose rate is charged, None if there is none; a relay; or a refused token."""

    prefix: str | None = None
    relay: bool = False
    token_refused: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """An upload whose body is complete."""

    collection: str
    body: bytes
    sender: Sender


class UploadGate:
    """Checks uploads. Thread-safe. Without a limiter, a proxy limits networks."""

    def __init__(
        self,
        suspension: Suspension,
        limiter: PrefixLimiter | None,
        *,
        is_relay: IsRelay | None = None,
    ) -> None:
        """Set up the checks.

        Without `is_relay` there are no tokens, and credentials are ignored.
        """
        self._suspension = suspension
        self._limiter = limiter
        self._is_relay = is_relay

    @property
    def limits_networks(self) -> bool:
        """Whether addresses are those of senders, not of a proxy."""
        return self._limiter is not None

    @property
    def knows_tokens(self) -> bool:
        """Whether an Authorization header has a meaning here."""
        return self._is_relay is not None

    def announced_length(self, content_type: str, announced: str) -> int:
        """Return the length of the body in bytes. Raises Problem if the headers are refused."""
        self._suspension.require_none()
        return content_length(content_type, announced)

    def is_relay(self, credential: str | None, collection: str) -> bool:
        """Whether the token is valid for this collection. May wait for a database."""
        if credential is None or self._is_relay is None:
            return False
        return self._is_relay(credential, collection)

    def admit(self, address: str, credential: str | None, *, relay: bool) -> Sender:
        """Charge the sender's network for one report.

        Raises Problem("too-many-requests") over its rate.

        Relays are not charged. Further reports of a request are charged once they are counted.
        """
        refused = self.knows_tokens and credential is not None and not relay
        if relay or self._limiter is None:
            return Sender(None, relay, refused)
        prefix = network_prefix(address)
        self._limiter.admit(prefix)
        return Sender(prefix, relay, refused)
