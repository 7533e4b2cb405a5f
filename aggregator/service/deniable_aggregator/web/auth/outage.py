"""Requests to a provider: few at a time, and none for a minute after one failed.

A provider that accepts connections and never answers holds each caller until its time-out. Here
that costs the service as many threads as `at_once` says, and no other request waits.
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
"""When to come back while others' requests are under way."""


class Outage:
    """Remembers that a request to a provider failed. Thread-safe."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._failed: float | None = None

    def lane(self, *, at_once: int) -> Lane:
        """Requests of one kind, `at_once` of them at a time."""
        return Lane(self, at_once)

    def remember(self) -> None:
        """For the next minute nothing is sent there."""
        self._failed = self._clock()

    def require_over(self) -> None:
        """Raises ProviderUnavailableError within a minute of a failure."""
        since = -1.0 if self._failed is None else self._clock() - self._failed
        if 0 <= since < REMEMBERED_SECONDS:
            raise ProviderUnavailableError(
                "the provider did not answer as it must less than a minute ago",
                retry_after_seconds=REMEMBERED_SECONDS - since,
            )


class Lane:
    """Lets some requests through at a time and turns the others away at once."""

    def __init__(self, outage: Outage, at_once: int) -> None:
        self._outage = outage
        self._room = threading.BoundedSemaphore(at_once)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Around one request, whose SignInError is remembered.

        Raises ProviderUnavailableError instead of waiting.
        """
        self._outage.require_over()
        if not self._room.acquire(blocking=False):
            raise ProviderUnavailableError(
                "others' requests to the provider are under way", retry_after_seconds=BUSY_SECONDS
            )
        try:
            yield
        except SignInError:
            self._outage.remember()
            raise
        finally:
            self._room.release()
