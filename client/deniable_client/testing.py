"""Test helpers for applications that embed the client, and for deniable's own tests.

with deniable_client.testing.client() as telemetry:
    App(telemetry).toggle_dark_mode()
assert telemetry.answers[0].collection == "settings"
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from deniable_client.ceiling import Ceiling
from deniable_client.client import Client
from deniable_client.errors import TransportError
from deniable_client.outcome import Outcome
from deniable_client.transport import Reply
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from typing import Literal

    from deniable_client.status import Status
    from deniable_shared.manifest.epochs import Clock

__all__ = [
    "ClientForTests",
    "FakeClock",
    "Recorded",
    "RecordingTransport",
    "Request",
    "accepted",
    "client",
    "recorded",
]

_HIGHEST = Ceiling(epsilon_per_report=20, epsilon_permanent=20, epsilon_lifetime=99)
_DAY_SECONDS = 86_400
_NO_KEY = "ed25519:" + "A" * 43


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of `Client.record` in a test: the collection, the true value and the outcome."""

    collection: str
    value: object
    outcome: Outcome


@contextmanager
def recorded() -> Iterator[list[Recorded]]:
    """Catch every `record` of every client in this process instead of randomizing it.

    Consent, policies and budgets are ignored: the outcome is QUEUED each time, or says what is
    wrong with the collection or the value. Nothing is stored, charged or sent. Use it for clients
    that the app makes itself; `client()` behaves as a device does.
    """
    caught: list[Recorded] = []

    def catch(client: Client, collection: str, value: object) -> Outcome:
        outcome = client.preview(collection, value)
        caught.append(Recorded(collection, value, outcome))
        return outcome

    with patch.object(Client, "record", catch):
        yield caught


class ClientForTests(Client):
    """A real client in memory that sends nothing. `answers` holds every call of `record`.

    Without an app file it takes any question and any value, and `status` misses no question. The
    first answer of a day (UTC) is `queued`, each further one `already-answered`, as on a device.
    """

    answers: list[Recorded]

    def preview(self, collection: str, value: object) -> Outcome:
        """See `Client.preview`. Without an app file, nothing is wrong."""
        return Outcome.QUEUED if self._takes(collection) else super().preview(collection, value)

    def status(self) -> Status:
        """See `Client.status`. Without an app file, no question is missing."""
        status = super().status()
        if not self._takes_all:
            return status
        silences = tuple(each for each in status.silences if each.reason != "no-questions")
        return replace(status, silences=silences)

    def _takes(self, collection: object) -> bool:
        """Whether it takes any value of it. It refuses swapped arguments, as a device does."""
        return self._takes_all and isinstance(collection, str)

    @property
    def _takes_all(self) -> bool:
        return not self._collections.names

    def _prepare(self, **seams: Any) -> None:
        super()._prepare(**seams)
        self.answers = []
        self._last_days: dict[str, int] = {}

    def _record(self, collection: str, value: object) -> Outcome:
        outcome = super()._record(collection, value)
        if outcome is Outcome.UNKNOWN_COLLECTION and self._takes(collection):
            outcome = self._answer(collection)
        self.answers.append(Recorded(collection, value, outcome))
        return outcome

    def _answer(self, collection: str) -> Outcome:
        day = int(self._clock() // _DAY_SECONDS)
        if day <= self._last_days.get(collection, day - 1):  # earlier: the clock went back
            return Outcome.ALREADY_ANSWERED
        self._last_days[collection] = day
        return Outcome.QUEUED


def client(
    file: str | os.PathLike[str] | bytes | None = None,
    *,
    consent: Literal["granted", "denied", "unknown"] = "granted",
    ceiling: Ceiling = _HIGHEST,
    clock: Clock = time.time,
) -> ClientForTests:
    """Return a client for an app's tests, of a person with this consent.

    `file` is the app file for `Client.from_file`. With it, values are checked against the
    questions, and a wrong file raises ConfigurationError. Policies and environment variables of the
    machine are ignored.
    """
    seams: dict[str, Any] = {
        "state": ":memory:",
        "ceiling": ceiling,
        "environ": {},
        "clock": clock,
        "transport": RecordingTransport(),
        "background": False,
        "strict": True,
    }
    if file is None:
        made = ClientForTests("https://telemetry.invalid", trust=_NO_KEY, **seams)
    else:
        made = ClientForTests.from_file(file, app="tests", **seams)
    if consent != "unknown":
        made.consent(consent)
    return made


@dataclass(slots=True)
class FakeClock:
    """A clock that moves only on `advance`; in unix seconds."""

    now: float

    def __call__(self) -> float:
        """Return its time in unix seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`, which may be negative."""
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it would have been sent."""

    method: str
    url: str
    body: bytes | None
    content_type: str | None


def accepted(body: bytes = b"", **more: str) -> Reply:
    """Return the aggregator's reply to an upload: all accepted but the reports in `body`.

    `more` are further header fields, like `Date`.
    """
    own = {"Content-Type": ERRORS_MEDIA_TYPE, "Content-Length": str(len(body))}
    return Reply(200, body, own | more)


def offline(request: Request) -> Reply:
    """Reply as if there were no network. Raises TransportError."""
    raise TransportError(f"{request.method} {request.url}: offline")


@dataclass(slots=True)
class RecordingTransport:
    """A transport without a network. It keeps every request, and `answer` makes the replies."""

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
