"""Runs the service as a child process: granian on a chosen port, ready when /readyz answers 200.

SIGTERM makes the child drain; it is killed only if it does not. If this process dies first, the
launcher notices that its standard input closes, and drains.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import AggregatorError
from deniable_aggregator.client.remote import remote
from deniable_aggregator.operations import settings_changes
from deniable_aggregator.operations.process import running_server
from deniable_gateway import serving
from deniable_gateway.serving import Listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.service import Service

SERVICE = "deniable_aggregator.web.asgi:app"
READY_SECONDS = 90.0
DRAIN_SECONDS = 20.0
POLL_SECONDS = 0.05
NO_ANSWER = "it does not answer"
LOGGING = Path(__file__).with_name("logging.json")

# One arena for each thread would keep the memory of one wide estimate: 17 MB a thread, permanently.
ALLOCATOR = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}
LOCAL_TOKEN = "deniable serve"  # noqa: S105  (a label, not a secret)

logger = logging.getLogger(__name__)


class ServingError(AggregatorError):
    """The service did not start, or stopped unexpectedly."""


class Server:
    """A service that runs as a child of this process."""

    def __init__(
        self, process: subprocess.Popen[bytes], *, address: str, token: str, link: str | None = None
    ) -> None:
        """`link`: a one-time sign-in link, if no one has ever signed in."""
        self.address = address
        self.token = token
        self.link = link
        self.suspended: str | None = None
        self._process = process

    @property
    def pid(self) -> int:
        """The process id of granian's main process."""
        return self._process.pid

    def wait(self) -> int:
        """Block until the service ends; returns its exit code."""
        return self._process.wait()

    def await_ready(self, deadline: float) -> None:
        """Wait until /readyz answers 200, or that an operator must act: see `suspended`.

        Raises ServingError at the deadline, with the last answer of /readyz, or if the child ends.
        """
        import httpx

        with httpx.Client(base_url=self.address, timeout=2.0, trust_env=False) as client:
            fault: str | None = NO_ANSWER
            while not (state := _readiness(client)).up:
                if state.detail not in (fault, NO_ANSWER):
                    fault = state.detail
                    logger.warning("%s. Waiting until that is repaired", fault)
                if (code := self._process.poll()) is not None:
                    raise ServingError(f"the service stopped while starting (exit code {code})")
                if time.monotonic() > deadline:
                    raise ServingError(
                        f"the service was not ready at {self.address} after {READY_SECONDS:.0f} s: "
                        f"{state.detail}. Repair that and start it again; `deniable doctor` checks "
                        "the same things"
                    )
                time.sleep(POLL_SECONDS)
        self.suspended = state.detail

    def stop(self) -> None:
        """Drain and end the child; a second Ctrl-C while it drains kills it."""
        try:
            self._process.terminate()
            self._process.wait(timeout=DRAIN_SECONDS)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            pass
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()


@dataclass(frozen=True, slots=True)
class _Readiness:
    """Whether the child serves, and the fault that /readyz names."""

    up: bool
    detail: str | None = None


def _readiness(client: httpx.Client) -> _Readiness:
    import httpx

    try:
        answer = client.get("/readyz")
        document = {} if answer.is_success else answer.json()
    except (httpx.HTTPError, ValueError):
        return _Readiness(up=False, detail=NO_ANSWER)
    suspended = bool(document.get("suspended"))
    return _Readiness(answer.is_success or suspended, document.get("detail"))


@contextmanager
def running(
    settings: Settings,
    *,
    log: IO[bytes] | int | None = None,
    access_log: bool = False,
    delete_if_orphaned: Path | None = None,
) -> Iterator[Server]:
    """A ready service on `settings.port`; server.json names it until the block ends.

    `log` gets granian's output (default: standard error). Raises ListenError if the port is
    taken, ServingError if the service does not start, LockedError if another
    process holds the directory.
    """
    serving.require_free(settings.host, settings.port)
    serving.allow_open_files()
    token_id, token, link = _local_access(settings)
    arguments = granian_arguments(settings, access_log=access_log)
    process = _spawn(arguments, settings, log, delete_if_orphaned)
    server = Server(process, address=settings.own_address, token=token, link=link)
    try:
        server.await_ready(time.monotonic() + READY_SECONDS)
        live = running_server.RunningServer(address=server.address, token=token, pid=server.pid)
        running_server.write(settings.data, live)
        yield server
        _revoke(server, token_id)
    finally:
        running_server.remove(settings.data, server.pid)
        server.stop()


def granian_arguments(settings: Settings, *, access_log: bool, factory: str = SERVICE) -> list[str]:
    """The arguments of the gateway, with the settings and logs of the service."""
    return serving.granian_arguments(
        listening_of(settings, access_log=access_log), factory=factory, logging_config=LOGGING
    )


def listening_of(settings: Settings, *, access_log: bool) -> Listening:
    """The settings of the server."""
    return Listening(
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        access_log=access_log,
    )


def _spawn(
    arguments: list[str],
    settings: Settings,
    log: IO[bytes] | int | None,
    delete_if_orphaned: Path | None,
) -> subprocess.Popen[bytes]:
    own = [] if delete_if_orphaned is None else ["--delete", str(delete_if_orphaned.absolute())]
    output = sys.stderr if log is None else log
    command = [sys.executable, "-P", "-m", "deniable_aggregator.operations.process.launcher"]
    return subprocess.Popen(  # noqa: S603  (our own interpreter and module)
        [*command, *own, "--", *arguments],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        cwd=settings.data,  # granian imports from its directory: use our own
        env={**ALLOCATOR, **os.environ, **_absolute(settings).environ()},
        start_new_session=True,  # a Ctrl-C reaches only us: we ask the child to drain
    )


def _absolute(settings: Settings) -> Settings:
    """The settings with absolute paths."""
    data = settings.data.absolute()
    if settings.shared:
        return replace(settings, data=data)
    return replace(settings, data=data, store=f"sqlite:///{settings.database.absolute()}")


def _local_access(settings: Settings) -> tuple[str, str, str | None]:
    """Id and text of an admin token for this machine's commands. Revokes tokens of killed runs.

    Also the secret of a sign-in link, if no one has signed in yet.
    """
    from deniable_aggregator.operations.service import Service

    label = _local_label(settings)
    service = Service.open(settings)
    try:
        settings_changes.record(service.store, settings, service.clock())
        for token in service.tokens.list():
            if token.label == label and token.revoked is None:
                revoked = _entry(service, "token-revoked", token=token.id)
                service.tokens.revoke(token.id, audit=revoked)
        made = _entry(service, "token-made")
        token_id, secret = service.tokens.create("admin", label, audit=made)
        return token_id, secret, _first_link(service)
    finally:
        service.close()


def _first_link(service: Service) -> str | None:
    """A link for the first person, because there is no default password; else None."""
    if service.users.list() or settings_changes.last(service.store, "sign-in") is not None:
        return None
    entry = _entry(service, "sign-in-link-made")
    return service.sessions.make_link("first sign-in", audit=entry)


def _entry(service: Service, act: str, **details: object) -> AuditEntry:
    return AuditEntry.of(act, actor=LOCAL_TOKEN, at=service.clock(), **details)


def _local_label(settings: Settings) -> str:
    """The token's label with machine and port: other servers may share the database."""
    if not settings.shared:
        return LOCAL_TOKEN
    return f"{LOCAL_TOKEN} {socket.gethostname()[:32]}:{settings.port}"


def _revoke(server: Server, token_id: str) -> None:
    """Revoke the local token; if the service has ended already, its next start does."""
    with suppress(AggregatorError), remote(server.address, server.token, trust_env=False) as local:
        local.revoke_token(token_id)


def free_port(host: str = "127.0.0.1") -> int:
    """A free port; on Linux no other process gets it while this process lives."""
    with socket.socket(serving.family_of(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        if sys.platform == "linux":  # a bound socket that does not listen lets others listen
            probe.detach()
        return port


@contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """In the block SIGTERM and SIGHUP act like Ctrl-C, so that everything is cleaned up."""

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the clean-up
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
