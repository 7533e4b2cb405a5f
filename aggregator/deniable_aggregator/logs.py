"""How the service logs: JSON lines for programs, coloured ones on a terminal, no person's data.

granian reads `logging.json` in its own process and in every worker, which names what is here;
modules log through the standard library. Of an exception a line says where it was raised and of
which type. What it says is left out unless it is ours or the system's: the words of a driver
may hold rows, those of a parser what was sent.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from deniable_aggregator.errors import AggregatorError

LONGEST_TRACE = 12
"""Frames of one exception, the innermost ones."""

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def formatter() -> logging.Formatter:
    """Of everything but requests."""
    return _formatter([structlog.processors.TimeStamper("%Y-%m-%dT%H:%M:%SZ", utc=True)])


def request_formatter() -> logging.Formatter:
    """Of the access log, without a time: the epoch is the only time a report has."""
    return _formatter([])


def exception_chain(error: BaseException | None) -> Iterator[dict[str, object]]:
    """The exception and what it came from, outermost first, without what may not be told."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = traceback.extract_tb(error.__traceback__)[-LONGEST_TRACE:]
        line: dict[str, object] = {"type": type(error).__qualname__}
        if (said := _safe_message(error)) is not None:
            line["said"] = said
        line["at"] = [f"{_module(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
        yield line
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _safe_message(error: BaseException) -> str | None:
    """What an error says in words that are ours, the system's, or a driver's code."""
    if isinstance(error, AggregatorError):
        quoting = error.__cause__ is not None
        return str(error).partition(": ")[0] if quoting else str(error)
    if isinstance(error, OSError):
        return error.strerror
    return getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)


def _module(path: str) -> str:
    """The last two parts: where the program is installed says nothing."""
    return "/".join(Path(path).parts[-2:])


def _formatter(first: list[Processor]) -> logging.Formatter:
    terminal = sys.stdout.isatty()
    before: list[Processor] = [*first, structlog.stdlib.add_log_level, _add_logger, _add_exception]
    last: list[Processor] = (
        [_flat_exception, structlog.dev.ConsoleRenderer(colors=True)]
        if terminal
        else [structlog.processors.JSONRenderer()]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )


def _add_logger(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["logger"] = event["_record"].name
    return event


def _add_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    info = event.pop("exc_info", None)
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = list(exception_chain(error))
    return event


def _flat_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """One line an exception, for people."""
    if "exception" in event:
        event["exception"] = "\n".join(
            f"{each['type']}: {each.get('said', '')}\n    " + "\n    ".join(each["at"])
            for each in event["exception"]
        )
    return event
