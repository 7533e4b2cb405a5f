"""How a gateway logs: one JSON object a line, and no person's data.

granian reads `logging.json` in its own process and in every worker, which names what is here;
modules log through the standard library. Of an exception a line says where it was raised and of
which type. What it says is left out unless it is ours or the system's: the words of a driver
may hold rows, those of a parser what was sent.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_gateway.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FRAMES = 12
"""Frames of one exception, the innermost ones."""


class JsonFormatter(logging.Formatter):
    """Level, logger and event, the time if there is one, and the exception."""

    def __init__(self, *, timed: bool) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, object] = {"event": record.getMessage()}
        if self._timed:
            moment = time.gmtime(record.created)
            line["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
        line |= {"level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = list(exception_chain(record.exc_info[1], own=(GatewayError,)))
        return json.dumps(line)


def formatter() -> logging.Formatter:
    """Of everything but requests."""
    return JsonFormatter(timed=True)


def request_formatter() -> logging.Formatter:
    """Of the access log, without a time: the epoch is the only time a report has."""
    return JsonFormatter(timed=False)


def exception_chain(
    error: BaseException | None, *, own: tuple[type[BaseException], ...]
) -> Iterator[dict[str, object]]:
    """The exception and its causes, outermost first; words only of `own` types and the system."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
        described: dict[str, object] = {"type": type(error).__qualname__}
        if (words := _words(error, own)) is not None:
            described["said"] = words
        described["at"] = [f"{_module(each.filename)}:{each.lineno} {each.name}" for each in frames]
        yield described
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _words(error: BaseException, own: tuple[type[BaseException], ...]) -> str | None:
    """What an error says in words that are ours, the system's, or a driver's code."""
    if isinstance(error, own):
        quoting = error.__cause__ is not None
        return str(error).partition(": ")[0] if quoting else str(error)
    if isinstance(error, OSError):
        return error.strerror
    return getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)


def _module(path: str) -> str:
    """The last two parts: where the program is installed says nothing."""
    return "/".join(Path(path).parts[-2:])
