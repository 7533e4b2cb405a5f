"""Limits guesses of passwords: by network, by name, and in total. Counts stay in memory.

Like the rate limit of uploads (`deniable_gateway.upload.limiter`) it stores no address, only a MAC
under a random key of the hour. It counts a name even if no user has it. One-time links are 256
random bits, which no one can guess; they still work for a person whose name an attacker has
blocked.
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
"""Attempts in a window, for one process: about as many as it can compute in a minute."""

WINDOW_SECONDS = 60

OF_PROVIDER = 60
"""Requests of one network to the provider's pages in a window: a sign-in takes two."""

ENTRIES_OF_NAME, ENTRIES_OF_ALL = 1, 10
"""Failed sign-ins that one process writes to the audit log in a window."""

AT_ONCE = 4
"""Password checks that run or wait; `flask_threads` has one more place, which refuses others."""


class SignInLimiter:
    """Refuses attempts after too many of them. Thread-safe."""

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
        """Whether one more password may be tried. Every attempt counts, right or wrong."""
        if self._by_address and not self._networks.hit(network_prefix(address)):
            return False
        return self._names.hit(name) and self._all.hit("")

    def admits_to_provider(self, address: str) -> bool:
        """Whether one more request of this network to or from the provider is allowed."""
        return not self._by_address or self._ways.hit(network_prefix(address))

    def is_recorded(self, name: str) -> bool:
        """Whether a failure gets an audit entry; equal for existing and unknown names."""
        return self._entries_of_name.hit(name) and self._entries.hit("")

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Yields whether the block may compute a password hash; never waits."""
        got = self._room.acquire(blocking=False)
        try:
            yield got
        finally:
            if got:
                self._room.release()
