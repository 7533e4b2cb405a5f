"""Limits requests to a provider: few at a time, and none for a minute after a failure.

A provider that accepts connections and never answers blocks each caller until the time-out. This
module limits that to `at_once` threads of the service; no other request waits.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import ProviderUnavailableError, SignInError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.manifest.epochs import Clock

REMEMBERED_SECONDS = 60
BUSY_SECONDS = 5
"""Seconds to wait while other requests are running."""


class Outage:
    """Remembers that a request to a provider failed. Thread-safe."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._failed: float | None = None

    def lane(self, *, at_once: int) -> Lane:
        """Requests of one kind, `at_once` of them at a time."""
        return Lane(self, at_once)

    def remember(self) -> None:
        """Stop requests to the provider for a minute."""
        self._failed = self._clock()

    def require_over(self) -> None:
        """Raises ProviderUnavailableError within a minute of a failure."""
        since = -1.0 if self._failed is None else self._clock() - self._failed
        if 0 <= since < REMEMBERED_SECONDS:
            raise ProviderUnavailableError(
                "the provider failed to answer less than a minute ago",
                retry_after_seconds=REMEMBERED_SECONDS - since,
            )


class Lane:
    """Allows some requests at a time and refuses the others at once."""

    def __init__(self, outage: Outage, at_once: int) -> None:
        self._outage = outage
        self._room = threading.BoundedSemaphore(at_once)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Wrap one request. Its SignInError stops later requests for a minute.

        Raises ProviderUnavailableError if too many requests are running.
        """
        self._outage.require_over()
        if not self._room.acquire(blocking=False):
            raise ProviderUnavailableError(
                "other requests to the provider are still running", retry_after_seconds=BUSY_SECONDS
            )
        try:
            yield
        except SignInError:
            self._outage.remember()
            raise
        finally:
            self._room.release()
