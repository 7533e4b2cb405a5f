"""Everything deniable_client raises or reports.

* ClientError
  x ConfigurationError    the host application must fix this
  x TransportError        temporary; the outbox keeps the report
  x HaltedError           a request was not made: it may not be now, or the time was over
  x RejectedError         permanent; the report was dropped, .problem says why
  x RefusedError          what the aggregator offered breaks a rule and is not used
  x LogForkedError        the aggregator contradicts itself; recording and uploading have stopped
  x StorageError          the state file cannot be used, now or (.permanent) at all
    + ClosedError         as the client was closed

`record()` raises none of them. `flush()`, `upload_due()` and `refresh()` hand them over in
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
    """An argument that only the host application's developer can put right."""


class TransportError(ClientError):
    """No usable answer: no connection, a time-out, a server that is not ready."""


class HaltedError(ClientError):
    """A request that was not made: nothing may be sent now, or the time was over."""


class RejectedError(ClientError):
    """A report was not counted and never will be; `problem` is the slug, "epoch-closed"."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(f"{problem}: {detail}")
        self.problem = problem


class RefusedError(ClientError):
    """A manifest or key list that is not signed, not newer, not allowed or not understood."""


class LogForkedError(ClientError):
    """Two statements of one operator that cannot both be in one log."""


class StorageError(ClientError):
    """The state file cannot be used. `permanent`: waiting will not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class ClosedError(StorageError):
    """The client was closed, or is a forked copy of one that lives in memory only."""

    def __init__(self) -> None:
        super().__init__("this client is closed", permanent=True)
