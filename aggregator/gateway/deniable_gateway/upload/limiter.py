"""Limits how much one network may send and one collection may take, in reports, in memory.

Addresses are never kept. Counters are named by a MAC of the network (/24 or /48) under a random key
that is replaced every hour, and the counters of a window are dropped with the window.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import threading
from typing import TYPE_CHECKING

from deniable_gateway.problem import Problem, jittered

if TYPE_CHECKING:
    from deniable_shared.manifest.epochs import Clock

WINDOW_SECONDS = 10
"""Seconds of a window. A burst may use up one window at once, so windows are short."""

KEY_SECONDS = 3_600


def network_prefix(address: str) -> str:
    """The /24 of an IPv4 address or the /48 of an IPv6 one; all other texts are one network."""
    if ":" not in address:
        return address.rpartition(".")[0]
    try:
        six = ipaddress.IPv6Address(address)
    except ValueError:
        return ""
    four = six.ipv4_mapped
    return six.packed[:6].hex() if four is None else str(four).rpartition(".")[0]


class Limiter:
    """Counts what comes under a name in a window of seconds. Thread-safe.

    Names are kept as a MAC under a random key of the hour. Only the counters of the current window
    are held, so a flood of networks takes memory only for seconds.
    """

    def __init__(self, amount: int, seconds: int, *, clock: Clock) -> None:
        self.amount = amount
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._window = 0
        self._counts: dict[str, int] = {}
        self._hour = -1
        self._key = b""

    def hit(self, name: str, cost: int = 1) -> bool:
        """Count `cost` under this name. Returns False once the limit is passed."""
        now = self._clock()
        window, pseudonym = int(now // self._seconds), self._pseudonym(name, now)
        with self._lock:
            if window != self._window:
                self._window, self._counts = window, {}
            count = self._counts.get(pseudonym, 0) + cost
            self._counts[pseudonym] = count
        return count <= self.amount

    def _pseudonym(self, name: str, now: float) -> str:
        hour = int(now // KEY_SECONDS)
        if hour != self._hour:
            self._key, self._hour = secrets.token_bytes(32), hour
        return hashlib.blake2b(name.encode(), key=self._key, digest_size=16).hexdigest()


class PrefixLimiter:
    """Refuses a network's reports over the limit. Thread-safe."""

    def __init__(self, reports_per_minute: int, *, clock: Clock) -> None:
        self._limiter = Limiter(_share(reports_per_minute), WINDOW_SECONDS, clock=clock)

    def admit(self, prefix: str, reports: int = 1) -> None:
        """Count the reports.

        Raises Problem("too-many-requests") once the network's share is used up.
        """
        if not self._limiter.hit(prefix, reports):
            raise _too_many("one network may send", self._limiter.amount)


class CollectionLimiter:
    """Refuses a collection's reports over the limit, from all senders together. Thread-safe."""

    def __init__(self, reports_per_minute: int, *, clock: Clock) -> None:
        """Set the limit; 0 is no limit."""
        share = _share(reports_per_minute)
        self._limiter = Limiter(share, WINDOW_SECONDS, clock=clock) if share else None

    def admit(self, collection: str, reports: int) -> None:
        """Count the reports. Raises Problem("too-many-requests") once the share is used up."""
        if self._limiter is not None and not self._limiter.hit(collection, reports):
            raise _too_many("one collection takes", self._limiter.amount)


def _share(reports_per_minute: int) -> int:
    return math.ceil(reports_per_minute * WINDOW_SECONDS / 60)


def _too_many(what: str, amount: int) -> Problem:
    return Problem(
        "too-many-requests",
        f"{what} {amount} reports in {WINDOW_SECONDS} s",
        retry_after=jittered(WINDOW_SECONDS),
    )
