"""For the tests of applications that embed the client, and for our own.

with deniable_client.testing.recorded() as reports:
    app.toggle_dark_mode()
assert reports[0].collection == "settings"
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest.mock import patch

from deniable_client.client import Client
from deniable_client.errors import TransportError
from deniable_client.transport import Reply
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_client.outcome import Outcome

__all__ = ["FakeClock", "Recorded", "RecordingTransport", "Request", "accepted", "recorded"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of `Client.record` under test: the collection, the true value, what it came to."""

    collection: str
    value: object
    outcome: Outcome


@contextmanager
def recorded() -> Iterator[list[Recorded]]:
    """Catch every `record` of every client in this process instead of randomizing it.

    Consent, policies and budgets are left aside: the outcome is QUEUED, or says what is wrong with
    the collection or the value. Nothing is stored, charged or sent.
    """
    caught: list[Recorded] = []

    def catch(client: Client, collection: str, value: object) -> Outcome:
        outcome = client.preview(collection, value)
        caught.append(Recorded(collection, value, outcome))
        return outcome

    with patch.object(Client, "record", catch):
        yield caught


@dataclass(slots=True)
class FakeClock:
    """A clock that stands still until it is moved; unix seconds."""

    now: float

    def __call__(self) -> float:
        """The time it shows."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move it, backwards too."""
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Request:
    """What would have crossed the network."""

    method: str
    url: str
    body: bytes | None
    content_type: str | None


def accepted(body: bytes = b"", **more: str) -> Reply:
    """The aggregator's own reply to an upload: accepted, but for the reports that `body` names.

    `more` are further header fields, like `Date`.
    """
    own = {"Content-Type": ERRORS_MEDIA_TYPE, "Content-Length": str(len(body))}
    return Reply(200, body, own | more)


def offline(request: Request) -> Reply:
    """The answer of no network."""
    raise TransportError(f"{request.method} {request.url}: offline")


@dataclass(slots=True)
class RecordingTransport:
    """A transport without a network: keeps every request and lets `answer` reply to it."""

    answer: Callable[[Request], Reply] = offline
    requests: list[Request] = field(default_factory=list)

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,  # noqa: ARG002  (a transport takes it by name)
    ) -> Reply:
        """See `deniable_client.Transport`."""
        request = Request(method, url, body, content_type)
        self.requests.append(request)
        return self.answer(request)
