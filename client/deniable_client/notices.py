"""Messages for the app's developer, each once: to the logger `deniable_client` and to `flush()`.

A mistake that only the developer can correct is a warning. A network failure is only information:
devices are offline now and then.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_client.errors import (
    ClientError,
    ConfigurationError,
    HaltedError,
    LogForkedError,
    StorageError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Notices"]

_MOST_PROBLEMS = 50
_MOST_TOPICS = 64
_INFO, _WARNING, _ERROR = 20, 30, 40  # logging's own, which is loaded when something is said


class Notices:
    """Collects problems for the next flush, and logs each topic once."""

    def __init__(self) -> None:
        self.problems: deque[ClientError] = deque(maxlen=_MOST_PROBLEMS)
        self._said: dict[object, str] = {}

    @property
    def said(self) -> tuple[str, ...]:
        """Everything that was logged, oldest first."""
        return tuple(self._said.values())

    def note(self, error: ClientError) -> None:
        """Keep a problem for the next flush, and log it if it is the first of its kind."""
        self.problems.append(error)
        self.log(error)

    def take(self) -> tuple[ClientError, ...]:
        """The problems since the last call."""
        taken = []
        while self.problems:
            taken.append(self.problems.popleft())
        return tuple(taken)

    def log_all(self, errors: Iterable[ClientError]) -> None:
        """Log those whose kind is new."""
        for error in errors:
            self.log(error)

    def log(self, error: ClientError) -> None:
        """Log what is wrong and what to do, unless an error of this class was logged before."""
        if not isinstance(error, HaltedError):  # nothing went wrong: it may not be sent now
            self.say(type(error), f"{error}{_advice(error)}", level=_level(error))

    def heard(self, topic: object) -> bool:
        """Whether the topic was logged, or the limit of topics is reached."""
        return topic in self._said or len(self._said) >= _MOST_TOPICS

    def say(self, topic: object, text: str, *, level: int = _WARNING) -> None:
        """Log a text unless its topic was logged. Exceptions of a handler are swallowed."""
        if self.heard(topic):
            return
        self._said[topic] = text
        import logging  # loaded with the first message

        with suppress(Exception):
            logging.getLogger("deniable_client").log(level, "%s", text)


def _level(error: ClientError) -> int:
    if isinstance(error, ConfigurationError | LogForkedError):
        return _ERROR
    return _INFO if isinstance(error, TransportError) else _WARNING


def _advice(error: ClientError) -> str:
    if isinstance(error, ConfigurationError):
        return ". Telemetry is disabled until this is corrected; Client(…, strict=True) raises this"
    if isinstance(error, TransportError):
        return (
            ". The report waits and is sent later. If this goes on, check whether this device "
            "reaches the service"
        )
    if isinstance(error, LogForkedError):
        return ". Nothing is recorded or sent any more: ask the operator of the service"
    if isinstance(error, StorageError):
        return ". Nothing is recorded until the state file can be used"
    return ""
