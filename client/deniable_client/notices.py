"""Messages for the app's developer: to the logger `deniable_client`, `flush()` and `health()`.

The logger gets each once. `health()` gets those that are not over.

A mistake that only the developer can correct is a warning. A network failure is only information:
devices are offline now and then.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_client.errors import (
    ClientError,
    ConfigurationError,
    HaltedError,
    LogForkedError,
    RefusedError,
    StorageError,
    TransportError,
)

if TYPE_CHECKING:
    from deniable_client.outcome import FlushResult

__all__ = ["Notices"]

_MOST_PROBLEMS = 50
_MOST_TOPICS = 64
_INFO, _WARNING, _ERROR = 20, 30, 40  # logging's own, which is loaded when something is said


class Notices:
    """Collects problems for the next flush, and logs each topic once."""

    def __init__(self) -> None:
        self.problems: deque[ClientError] = deque(maxlen=_MOST_PROBLEMS)
        self.failed: bool = False
        """Whether the last attempt to reach the service failed."""
        self._said: set[object] = set()
        self._of_runs: set[object] = set()
        self._current: dict[object, str] = {}

    @property
    def current(self) -> tuple[str, ...]:
        """The problems that are not over, oldest first."""
        return tuple(self._current.values())

    def note(self, error: ClientError) -> None:
        """Keep a problem for the next flush, and log it if it is new."""
        self.problems.append(error)
        self.log(error)

    def take(self) -> tuple[ClientError, ...]:
        """The problems since the last call."""
        taken = []
        while self.problems:
            taken.append(self.problems.popleft())
        return tuple(taken)

    def log_run(self, result: FlushResult, *, failed: bool) -> None:
        """Log the new problems of a run. Those of earlier runs are over if it reached the service.

        `failed`: whether the last attempt to reach the service failed.
        """
        self.failed = failed
        if result.accepted or not failed:
            for topic in tuple(self._of_runs):
                self._current.pop(topic, None)
            self._of_runs.clear()
        for error in result.problems:
            if isinstance(error, TransportError | RefusedError):
                self._of_runs.add(_topic(error))
            self.log(error)

    def log(self, error: ClientError) -> None:
        """Log what is wrong and what to do, unless the same was logged before."""
        if not isinstance(error, HaltedError):  # nothing went wrong: it may not be sent now
            topic = _topic(error)
            self.say(topic, f"{error}{_advice(error)}", level=_level(error))

    def end(self, kind: type[ClientError]) -> None:
        """Drop the problems of this class from `current`: they are over."""
        for topic in tuple(self._current):  # a copy: other threads add to it
            if isinstance(topic, tuple) and topic[0] is kind:
                self._current.pop(topic, None)

    def heard(self, topic: object) -> bool:
        """Whether the topic was logged, or the limit of topics is reached."""
        return topic in self._said or len(self._said) >= _MOST_TOPICS

    def say(self, topic: object, text: str, *, level: int = _WARNING) -> None:
        """Log a text unless its topic was logged. Exceptions of a handler are swallowed."""
        if len(self._current) < _MOST_TOPICS:
            self._current[topic] = text
        if self.heard(topic):
            return
        self._said.add(topic)
        import logging  # loaded with the first message

        with suppress(Exception):
            logging.getLogger("deniable_client").log(level, "%s", text)


def _topic(error: ClientError) -> tuple[type[ClientError], str]:
    """The same for each moment, count and port that a text may name."""
    return type(error), re.sub("[0-9]+", "#", str(error))


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
