"""Many real clients at once, for demonstrations and load.

    python -m deniable_client.simulate_clients

Reads one JSON document on stdin:

    {"url": …, "trust": …, "manifests": [DSSE text, …],
     "answers": [{"<collection name>": value, …}, one object a user …], "workers": threads,
     "seconds": over which the users are spread; 0: as fast as they can}

and writes JSON lines on stdout, one about every 100 users and a last one with `"final": true`:

    {"done": users, "sent": requests with a report, "accepted": reports, "duplicates": requests that
     repeated a report, "rejected": reports dropped, "waiting": reports given up, "outcomes": {…}}

Every user is a `Client` with a state of its own in memory, which consents, records and flushes. The
users share one transport, the key list for some seconds, and the work of verifying manifests.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from deniable_client.ceiling import Ceiling
from deniable_client.client import Client
from deniable_client.errors import ClientError, ConfigurationError
from deniable_client.outcome import Outcome
from deniable_client.transport import HttpTransport, Reply, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_shared.manifest.epochs import Clock

__all__ = ["CachingTransport", "ClientSimulation", "Totals", "main", "run"]

_HIGHEST_CEILING = Ceiling(epsilon_per_report=20, epsilon_permanent=20, epsilon_lifetime=99)
_USERS_A_LINE = 100
_MOST_WORKERS = 256
_CACHE_SECONDS = 5.0
_FLUSH_SECONDS = 30.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(slots=True)
class Totals:
    """The sums over some users."""

    done: int = 0
    sent: int = 0
    accepted: int = 0
    rejected: int = 0
    waiting: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, other: Totals) -> None:
        """Add the totals of others."""
        self.done += other.done
        self.sent += other.sent
        self.accepted += other.accepted
        self.rejected += other.rejected
        self.waiting += other.waiting
        self.outcomes += other.outcomes

    def to_json(self) -> dict[str, object]:
        """Return one line of progress."""
        reports = self.outcomes[Outcome.QUEUED]
        return {
            "done": self.done,
            "sent": self.sent,
            "accepted": self.accepted,
            "duplicates": max(0, self.sent - reports),
            "rejected": self.rejected,
            "waiting": self.waiting,
            "outcomes": dict(sorted(self.outcomes.items())),
        }


@dataclass(frozen=True, slots=True)
class ClientSimulation:
    """The service that the users report to, and how many run at once.

    Each worker waits `spacing` seconds before each user. Raises ConfigurationError if `workers` is
    out of range.
    """

    url: str
    trust: str | Sequence[str]
    manifests: tuple[bytes, ...]
    workers: int
    transport: Transport
    spacing: float = 0.0
    pause: Callable[[float], None] = time.sleep
    clock: Clock = time.time

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise ConfigurationError(f"workers must be 1…{_MOST_WORKERS}, got {self.workers}")

    def answer(self, answers: Mapping[str, object]) -> Totals:
        """Run one user: consent, record and flush."""
        if self.spacing:
            self.pause(self.spacing)
        with Client(
            self.url,
            trust=self.trust,
            manifests=self.manifests,
            state=":memory:",
            ceiling=_HIGHEST_CEILING,
            environ={},  # the opt-outs of this machine are not the users'
            transport=self.transport,
            clock=self.clock,
            background=False,
        ) as client:
            client.consent("granted")
            totals = Totals(done=1)
            totals.outcomes.update(client.record(*answer).value for answer in answers.items())
            self._flush(client, totals)
        return totals

    def _flush(self, client: Client, totals: Totals) -> None:
        for pause in (0.0, *_PAUSES):
            if pause:
                self.pause(pause)
            result = client.flush(_FLUSH_SECONDS, early=True)
            totals.sent += result.sent
            totals.accepted += result.accepted
            totals.rejected += result.dropped
            totals.waiting = result.waiting
            if not result.waiting:
                return


class CachingTransport:
    """A transport that answers GETs from memory for some seconds. Uploads go through."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._cached: dict[str, tuple[float, Reply]] = {}

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """See `deniable_client.Transport`."""
        if method != "GET":
            return self._inner.request(
                method, url, body=body, content_type=content_type, timeout=timeout
            )
        with self._lock:
            until, reply = self._cached.get(url, (0.0, None))
            if reply is None or time.monotonic() >= until:
                reply = self._inner.request(method, url, timeout=timeout)
                if reply.status == 200:
                    self._cached[url] = (time.monotonic() + _CACHE_SECONDS, reply)
        return reply


def run(
    simulation: ClientSimulation,
    answers: Iterable[Mapping[str, object]],
    report: Callable[[Totals], None],
) -> Totals:
    """Run all users. Calls `report` with the totals about every 100 users."""
    total = Totals()
    with ThreadPoolExecutor(simulation.workers, thread_name_prefix="simulated-client") as pool:
        for totals in pool.map(simulation.answer, answers):
            total.add(totals)
            if total.done % _USERS_A_LINE == 0:
                report(total)
    return total


def main(source: TextIO, target: TextIO) -> None:
    """Read the document, run the clients, write the lines.

    Raises ConfigurationError if the document is wrong.
    """

    def write(totals: Totals, **more: object) -> None:
        print(json.dumps(totals.to_json() | more), file=target, flush=True)

    simulation, answers = _parse(source.read())
    write(run(simulation, answers, write), final=True)


def _parse(text: str) -> tuple[ClientSimulation, list[dict[str, object]]]:
    try:
        document = json.loads(text)
        answers = [dict(answer) for answer in document["answers"]]
        workers, seconds = int(document.get("workers", 8)), float(document.get("seconds", 0))
        simulation = ClientSimulation(
            url=document["url"],
            trust=document["trust"],
            manifests=tuple(envelope.encode() for envelope in document["manifests"]),
            workers=workers,
            spacing=seconds * workers / max(1, len(answers)),
            transport=CachingTransport(HttpTransport()),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            "stdin must be one JSON document with url, trust, manifests, answers and workers: "
            f"{error!r}"
        ) from error
    return simulation, answers


def _end_without_reader(descriptor: int) -> None:
    """End this process when the reader of its output is gone, even while users wait."""
    waiting = select.poll()
    waiting.register(descriptor, 0)  # poll always reports errors and hang-ups
    waiting.poll()
    os._exit(1)


if __name__ == "__main__":
    if hasattr(select, "poll"):  # pragma: no branch - Windows has no poll
        threading.Thread(
            target=_end_without_reader, args=(sys.stdout.fileno(),), daemon=True
        ).start()
    try:
        main(sys.stdin, sys.stdout)
    except ClientError as _problem:
        sys.exit(str(_problem))
