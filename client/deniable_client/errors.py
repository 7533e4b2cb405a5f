"""All errors that deniable_client raises or reports.

* ClientError
  x ConfigurationError    the host application must correct this
  x TransportError        temporary; the outbox keeps the report
  x HaltedError           no request was made: it was not allowed, or the time limit was over
  x RejectedError         permanent; the report was dropped, .problem says why
  x RefusedError          the aggregator sent something that breaks a rule; it is not used
  x LogForkedError        the aggregator contradicts itself; recording and uploading have stopped
  x StorageError          the state file cannot be used, now or (.permanent) at all
    + ClosedError         the client was closed

`record()` raises none of them. `flush()`, `upload_due()` and `refresh()` return them in
`.problems`.
"""

from __future__ import annotations

__all__ = [
    "ClientError",
    "ClosedError",
    "ConfigurationError",
    "HaltedError",
    "LogForkedError",
    "RefusedError",
    "RejectedError",
    "StorageError",
    "TransportError",
]


class ClientError(Exception):
    """The root of the tree."""


class ConfigurationError(ClientError, ValueError):
    """A wrong argument, which only the host application's developer can correct."""


class TransportError(ClientError):
    """No usable reply: no connection, a time-out, or a server that is not ready."""


class HaltedError(ClientError):
    """No request was made, because nothing may be sent now or the time limit was over."""


class RejectedError(ClientError):
    """A report was rejected permanently. `problem` is the reason, like "epoch-closed"."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(f"{problem}: {detail}")
        self.problem = problem


class RefusedError(ClientError):
    """A manifest or key list is not signed, not newer, not allowed or not understood."""


class LogForkedError(ClientError):
    """The operator signed two statements that cannot both be in one log."""


class StorageError(ClientError):
    """The state file cannot be used. `permanent`: waiting will not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class ClosedError(StorageError):
    """The client was closed, or is a forked copy of one that lives in memory only."""

    def __init__(self) -> None:
        super().__init__("this client is closed", permanent=True)
