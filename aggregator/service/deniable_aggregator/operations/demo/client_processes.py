"""Real clients in processes of their own, each answering for its share of the people.

The aggregator never imports the client. It starts `python -m deniable_client.simulate_clients`,
which reads one JSON document and reports its progress in JSON lines.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from deniable_aggregator.base.errors import AggregatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.operations.demo.study import Answers

CLIENT = "deniable_client"
THREADS_PER_PROCESS = 8
LOG_CHARACTERS = 400


class ClientProcessError(AggregatorError):
    """The clients could not be started, or ended before everyone had answered."""


@dataclass(frozen=True, slots=True)
class Uploads:
    """The outcomes of the reports; `waiting` were given up."""

    sent: int = 0
    accepted: int = 0
    duplicates: int = 0
    rejected: int = 0
    waiting: int = 0

    def __add__(self, other: Uploads) -> Uploads:
        return Uploads(
            self.sent + other.sent,
            self.accepted + other.accepted,
            self.duplicates + other.duplicates,
            self.rejected + other.rejected,
            self.waiting + other.waiting,
        )


@dataclass(frozen=True, slots=True)
class UploadTask:
    """The address of uploads, the trusted key, and the signed manifests of clients.

    Uploads are spread over `seconds`; 0: as fast as possible.
    """

    url: str
    trust: str
    manifests: tuple[str, ...]
    seconds: float = 0.0


def require_client() -> None:
    """Raises ClientProcessError if the client is not installed next to the aggregator."""
    if importlib.util.find_spec(CLIENT) is None:
        raise ClientProcessError("the client is not installed here: pip install deniable-client")


def upload(
    task: UploadTask,
    people: Sequence[Answers],
    *,
    processes: int,
    logs: Path,
    progress: Callable[[int], None],
) -> Uploads:
    """Every person answers through a client of their own; returns the outcomes of the reports.

    `progress` is called with the number of people done; `logs` is a directory for what the clients
    print on standard error. Raises ClientProcessError if a process ends early.
    """
    require_client()
    shares = [people[start::processes] for start in range(min(processes, len(people)))]
    lines: queue.Queue[tuple[int, dict[str, object] | None]] = queue.Queue()
    with _start(task, shares, logs, lines):
        return _follow(lines, len(shares), logs, progress)


@contextmanager
def _start(
    task: UploadTask,
    shares: Sequence[Sequence[Answers]],
    logs: Path,
    lines: queue.Queue[tuple[int, dict[str, object] | None]],
) -> Iterator[None]:
    processes: list[subprocess.Popen[bytes]] = []
    threads: list[threading.Thread] = []
    try:
        for number, share in enumerate(shares):
            with _log(logs, number).open("wb") as log:
                process = _spawn(log)
            processes.append(process)
            document = _document(task, share)
            for work in (_feeder(process, document), _reader(process, number, lines)):
                thread = threading.Thread(target=work, daemon=True)
                thread.start()
                threads.append(thread)
        yield
    finally:
        for process in processes:
            process.kill()  # no effect on a process that has ended
            process.wait()
        for thread in threads:
            thread.join()


def _spawn(log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-P", "-m", f"{CLIENT}.simulate_clients"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=_environment(),
        start_new_session=True,  # a Ctrl-C reaches only us: we end the clients
    )


def _environment() -> dict[str, str]:
    """Our environment without the user's consent variables: simulated people are others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
    kept.pop("DO_NOT_TRACK", None)
    return {**kept, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def _document(task: UploadTask, share: Sequence[Answers]) -> bytes:
    return json.dumps(
        {
            "url": task.url,
            "trust": task.trust,
            "manifests": list(task.manifests),
            "answers": list(share),
            "workers": THREADS_PER_PROCESS,
            "seconds": task.seconds,
        }
    ).encode()


def _feeder(process: subprocess.Popen[bytes], document: bytes) -> Callable[[], None]:
    def feed() -> None:
        assert process.stdin is not None  # noqa: S101  (opened with PIPE)
        try:
            with process.stdin as stream:
                stream.write(document)
        except BrokenPipeError:
            pass  # the process ended early; its exit code shows it

    return feed


def _reader(
    process: subprocess.Popen[bytes],
    number: int,
    lines: queue.Queue[tuple[int, dict[str, object] | None]],
) -> Callable[[], None]:
    def read() -> None:
        assert process.stdout is not None  # noqa: S101  (opened with PIPE)
        try:
            with process.stdout as stream:
                for line in stream:
                    lines.put((number, json.loads(line)))
        finally:
            lines.put((number, None))

    return read


def _follow(
    lines: queue.Queue[tuple[int, dict[str, object] | None]],
    processes: int,
    logs: Path,
    progress: Callable[[int], None],
) -> Uploads:
    done = [0] * processes
    totals: dict[int, Uploads] = {}
    while len(totals) < processes:
        number, line = lines.get()
        if line is None:
            if number not in totals:
                raise ClientProcessError(_describe_early_end(_log(logs, number)))
            continue
        done[number] = _count(line, "done")
        progress(sum(done))
        if line.get("final"):
            totals[number] = _uploads(line)
    return sum(totals.values(), Uploads())


def _uploads(line: dict[str, object]) -> Uploads:
    names = ("sent", "accepted", "duplicates", "rejected", "waiting")
    return Uploads(**{name: _count(line, name) for name in names})


def _count(line: dict[str, object], name: str) -> int:
    value = line.get(name, 0)
    return value if isinstance(value, int) else 0


def _log(logs: Path, number: int) -> Path:
    return logs / f"clients-{number}.log"


def _describe_early_end(log: Path) -> str:
    said = log.read_text(errors="replace").strip()[-LOG_CHARACTERS:]
    return "the clients ended before everyone had answered" + (f": {said}" if said else "")
