"""How many requests and how many of their bytes one process holds, in all and of each network.

What is over a bound is refused at once, before its body is read: nobody waits for a place. One
network has a share, so that others find room whatever it sends. Behind a proxy there are no shares.
"""

from __future__ import annotations

from deniable_gateway.problem import Problem, jittered

RETRY_SECONDS = 5.0
SHARE = 4
"""One network may hold a quarter of all."""


class InHand:
    """Counts what is held. Used by one thread, that of the event loop."""

    def __init__(self, *, requests: int, size: int) -> None:
        """`size` is in bytes. One that is larger alone is taken while its network holds none."""
        self._requests = requests
        self._size = size
        self.held = 0
        self.bytes = 0
        self._networks: dict[str, list[int]] = {}

    def enter(self, network: str | None, size: int) -> None:
        """Take a place for a request and the bytes that it announced.

        Problem("unavailable") where all is taken, Problem("too-many-requests") where the network's
        share is. None has no share.
        """
        mine = None if network is None else self._networks.get(network)
        if self.held >= self._requests or (self.bytes and self.bytes + size > self._size):
            raise _full()
        if mine is not None and (
            mine[0] >= self._requests // SHARE or (mine[1] and mine[1] + size > self._size // SHARE)
        ):
            raise _share_is_used()
        self._add(network, 1, size)

    def grow(self, network: str | None, size: int) -> None:
        """Hold more bytes for a request that has a place; Problem("unavailable") over the bound."""
        if self.bytes and self.bytes + size > self._size:
            raise _full()
        self._add(network, 0, size)

    def leave(self, network: str | None, size: int) -> None:
        """Give the place and its bytes back."""
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


def _full() -> Problem:
    return Problem(
        "unavailable",
        "too many requests wait here: come again later",
        retry_after=jittered(RETRY_SECONDS),
    )


def _share_is_used() -> Problem:
    return Problem(
        "too-many-requests",
        "too many requests of one network wait here: come again later",
        retry_after=jittered(RETRY_SECONDS),
    )
