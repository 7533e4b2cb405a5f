"""Slows down who guesses passwords: by network, by name, and all together; in memory.

Addresses are named as those of uploads are, by a MAC under a random key of the hour
(`ingest.limiter`); a name is counted whether or not somebody has it. One-time links are 256 random
bits: nobody guesses them, and they let in a person whose name somebody else has used up.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_gateway.upload.limiter import Limiter, network_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.manifest.epochs import Clock

OF_NETWORK, OF_NAME, OF_ALL = 20, 10, 300
"""Attempts in a window, of one process; what it can compute in a minute is about as many."""

WINDOW_SECONDS = 60

OF_PROVIDER = 60
"""Requests of one network to the pages of the provider in a window: two for each sign-in."""

ENTRIES_OF_NAME, ENTRIES_OF_ALL = 1, 10
"""Entries of failed sign-ins that the audit log takes in a window, of one process."""

AT_ONCE = 4
"""Requests that compute or wait to; `flask_threads` has a place more, which refuses the others."""


class SignInLimiter:
    """Refuses attempts once there were too many. Thread-safe."""

    def __init__(self, *, clock: Clock, by_address: bool) -> None:
        self._by_address = by_address
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._networks, self._names, self._all = (
            Limiter(amount, WINDOW_SECONDS, clock=clock) for amount in (OF_NETWORK, OF_NAME, OF_ALL)
        )
        self._ways = Limiter(OF_PROVIDER, WINDOW_SECONDS, clock=clock)
        self._entries_of_name, self._entries = (
            Limiter(amount, WINDOW_SECONDS, clock=clock)
            for amount in (ENTRIES_OF_NAME, ENTRIES_OF_ALL)
        )

    def admits(self, address: str, name: str) -> bool:
        """Whether one more password may be tried; counted before it is known to be right."""
        if self._by_address and not self._networks.hit(network_prefix(address)):
            return False
        return self._names.hit(name) and self._all.hit("")

    def admits_to_provider(self, address: str) -> bool:
        """Whether this network may be sent to the provider, or come back from it, once more."""
        return not self._by_address or self._ways.hit(network_prefix(address))

    def is_recorded(self, name: str) -> bool:
        """Whether a failure gets an entry; the same for a name that somebody has and any other."""
        return self._entries_of_name.hit(name) and self._entries.hit("")

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether there is room for one more computation within the block; nobody waits for it."""
        got = self._room.acquire(blocking=False)
        try:
            yield got
        finally:
            if got:
                self._room.release()
