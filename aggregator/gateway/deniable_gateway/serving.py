"""Granian as the server of a process: its arguments, and how it replaces this process."""

from __future__ import annotations

import errno
import os
import resource
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from deniable_gateway.errors import ListenError

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER_MILLISECONDS = 10_000
LOGGING = Path(__file__).parent / "logging.json"
ACCESS_LOG_FORMAT = "%(method)s %(path).200r %(status)d %(dt_ms).1f ms"
"""Contains no address, no query string and no time (the epoch is the only time a report has).

The path is quoted (`r`) and cut: no line break in it forges a line, no long one floods the log.
"""
WORKER_KILL_SECONDS = 12
"""Seconds after which a worker is killed if it does not end, so that the server ends within 15."""
CONNECTIONS = 10_000
"""Most connections of a worker, idle ones included, if it may open as many files."""
READ_BYTES = 65_536
"""Bytes read ahead of a connection: 10,000 connections at full speed hold 0.6 GB."""
OTHER_FILES = 256
"""Other files of a worker: its database, its logs, its own connections."""
PREFIX = "DENIABLE_"


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and how many processes serve."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    access_log: bool = False


def granian_arguments(
    listening: Listening, *, factory: str, logging_config: Path = LOGGING
) -> list[str]:
    """Return the arguments of granian. Every limit that it would leave open is set."""
    return [
        *("--interface", "asginl", "--http", "1", "--no-ws", "--factory"),
        *("--host", listening.host, "--port", str(listening.port)),
        *("--workers", str(listening.workers)),
        *(("--respawn-failed-workers",) if listening.workers > 1 else ()),
        *("--backpressure", str(most_connections())),
        *("--http1-buffer-size", str(READ_BYTES)),
        *("--workers-kill-timeout", str(WORKER_KILL_SECONDS)),
        *("--http1-header-read-timeout", str(HEADER_MILLISECONDS)),
        *("--log-level", "error"),  # below this level it only logs its start and stop
        *("--log-config", str(logging_config)),
        *("--access-log-fmt", ACCESS_LOG_FORMAT),
        "--access-log" if listening.access_log else "--no-access-log",
        factory,
    ]


def most_connections() -> int:
    """Return the most connections of a worker: each is an open file, which the system limits."""
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return CONNECTIONS
    return max(1, min(CONNECTIONS, allowed - OTHER_FILES))


def allow_open_files() -> None:
    """Raise the limit of open files of this process and its children, if the system allows it."""
    now, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most_connections() + OTHER_FILES
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, allowed))


def replace_process(
    listening: Listening, *, factory: str, options: Mapping[str, str], directory: str | Path
) -> NoReturn:
    """Replace this process by granian: signals reach it, and none of our processes is left behind.

    `options` are the variables of the application, which gets no other variable of ours.
    `directory` is where granian imports from: only trusted users may write there.
    """
    arguments = granian_arguments(listening, factory=factory)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    allow_open_files()
    os.chdir(directory)
    os.execve(  # noqa: S606  (our own interpreter and module)
        sys.executable,
        [sys.executable, "-P", "-m", "granian", *arguments],
        {**environ, **options},
    )


def require_free(host: str, port: int) -> None:
    """Raises ListenError if the process cannot listen on host and port."""
    try:
        socket.create_server((host, port), family=family_of(host)).close()
    except OSError as error:
        number = error.errno or 0
        is_host = number < 0 or number == errno.EADDRNOTAVAIL  # below 0: a name that none has
        why = (error.strerror or "").partition(" (while")[0]
        raise ListenError(
            f"cannot listen on {host} port {port} ({why}): "
            f"choose another with {'--host' if is_host else '--port'}"
        ) from error


def family_of(host: str) -> socket.AddressFamily:
    """Return IPv6 for an address with colons, else IPv4."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET
