"""server.json in the data directory: where the service runs, and the token of its own machine.

Written by `deniable serve` with mode 0600 and removed when it stops. A file left behind by a
process that was killed names no live server and is ignored.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "server.json"
OWNER_ONLY = 0o600
ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running service: its address, an admin token for this machine, the process that serves."""

    address: str
    token: str
    pid: int

    def __post_init__(self) -> None:
        if not self.address.startswith("http://") or self.pid < 1:
            raise ValueError(f"server.json must name an http address and a process, got {self!r}")

    def __repr__(self) -> str:
        return f"RunningServer(address={self.address!r}, pid={self.pid})"


def write(data: Path, server: RunningServer) -> None:
    """Replace the file atomically; only its owner can read it."""
    draft = data / f"{NAME}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(server), file)
    draft.replace(data / NAME)


def read(data: Path) -> RunningServer | None:
    """The server in the file, alive or not; None if the file is missing or invalid."""
    try:
        return RunningServer(**json.loads((data / NAME).read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None


def remove(data: Path, pid: int) -> None:
    """Remove the file, if it names that process."""
    server = read(data)
    if server is None or server.pid == pid:
        with suppress(FileNotFoundError):
            (data / NAME).unlink()


def find(data: Path) -> RunningServer | None:
    """The server that runs now: its process is alive and it answers at its address."""
    server = read(data)
    if server is None or not _alive(server.pid) or not _answers(server.address):
        return None
    return server


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _answers(address: str) -> bool:
    import httpx

    try:
        answer = httpx.get(f"{address}/healthz", timeout=ANSWER_SECONDS, trust_env=False)
    except httpx.HTTPError:
        return False
    return answer.is_success
