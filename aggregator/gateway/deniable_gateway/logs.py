"""Logging of a gateway: one JSON object a line, without personal data.

granian reads `logging.json`, which names this module, in its own process and in every worker. Other
modules use the standard library. For an exception, a line says where it was raised and its type.
Its text is included only for our own errors and the system's: a driver's text may contain rows, and
a parser's text what was sent.
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
"""Most frames of one exception, the innermost ones."""


class JsonFormatter(logging.Formatter):
    """Formats level, logger and event, the time if there is one, and the exception."""

    def __init__(self, *, timed: bool) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, object] = {"event": record.getMessage()}
        if self._timed:
            moment = time.gmtime(record.created)
            line["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
        line |= {"level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = list(exception_chain(record.exc_info[1], own=(GatewayError,)))
        return json.dumps(line)


def formatter() -> logging.Formatter:
    """Return the formatter of everything but requests."""
    return JsonFormatter(timed=True)


def request_formatter() -> logging.Formatter:
    """The formatter of the access log, without a time: reports have no time but the epoch."""
    return JsonFormatter(timed=False)


def exception_chain(
    error: BaseException | None, *, own: tuple[type[BaseException], ...]
) -> Iterator[dict[str, object]]:
    """Yield the exception and its causes, outermost first.

    Texts are included only for the types `own` and the system's errors.
    """
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
    """Return an error's text if it is ours or the system's, or a driver's code; else None."""
    if isinstance(error, own):
        quoting = error.__cause__ is not None
        return str(error).partition(": ")[0] if quoting else str(error)
    if isinstance(error, OSError):
        return error.strerror
    return getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)


def _module(path: str) -> str:
    """Return the last two parts of a path: where the program is installed does not matter."""
    return "/".join(Path(path).parts[-2:])
