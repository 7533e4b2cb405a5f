"""Limits how many requests and bytes one process holds, in total and for each network.

A request over a limit is refused at once, before its body is read; it never waits for a place. A
network has only a share, so that one network cannot fill the process. Behind a proxy there are no
shares.
"""

from __future__ import annotations

from deniable_gateway.problem import Problem, jittered

RETRY_SECONDS = 5.0
SHARE = 4
"""One network may hold one part in SHARE of the bytes."""

_NOTHING = (0, 0)


class InHand:
    """Counts the requests and bytes held. Only the event loop's thread uses it."""

    def __init__(self, *, requests: int, of_network: int, size: int) -> None:
        """Set the limits: of requests, in total and of one network, and `size` in bytes.

        A larger request is taken if its network holds nothing else.
        """
        self._requests = requests
        self._of_network = of_network
        self._size = size
        self.held = 0
        self.bytes = 0
        self._networks: dict[str, list[int]] = {}

    @property
    def is_full(self) -> bool:
        """Whether there is no place for a further request of any size."""
        return self.held >= self._requests

    def share_is_used(self, network: str | None) -> bool:
        """Whether the network has no place for a further request of any size."""
        mine = self._networks.get(network) if network is not None else None
        return mine is not None and mine[0] >= self._of_network

    def enter(self, network: str | None, size: int) -> None:
        """Take a place for a request and the bytes that it announced.

        Raises Problem("unavailable") if all places are taken, and Problem("too-many-requests") if
        the network's share is. A network of None has no share.
        """
        if self.is_full or (self.bytes and self.bytes + size > self._size):
            raise full()
        mine = self._networks.get(network, _NOTHING) if network is not None else _NOTHING
        if self.share_is_used(network) or (mine[1] and mine[1] + size > self._size // SHARE):
            raise share_is_used()
        self._add(network, 1, size)

    def grow(self, network: str | None, size: int) -> None:
        """Hold more bytes for a request. Raises Problem("unavailable") over the limit."""
        if self.bytes and self.bytes + size > self._size:
            raise full()
        self._add(network, 0, size)

    def leave(self, network: str | None, size: int) -> None:
        """Free the place and its bytes."""
        self._add(network, -1, -size)

    def _add(self, network: str | None, requests: int, size: int) -> None:
        self.held += requests
        self.bytes += size
        if network is None:
            return
        mine = self._networks.setdefault(network, [0, 0])
        mine[0] += requests
        mine[1] += size
        if not mine[0]:
            del self._networks[network]


def full() -> Problem:
    """Return the refusal of a request for which the process has no place."""
    return Problem(
        "unavailable",
        "too many requests are waiting: try again later",
        retry_after=jittered(RETRY_SECONDS),
    )


def share_is_used() -> Problem:
    """Return the refusal of a request whose network holds its share."""
    return Problem(
        "too-many-requests",
        "too many requests of one network are waiting: try again later",
        retry_after=jittered(RETRY_SECONDS),
    )
