"""Log formats: JSON lines for programs, coloured lines on a terminal, no personal data.

granian reads `logging.json` in its own process and in every worker; that file names the functions
below. Modules log through the standard library. For an exception the log has its type and place.
It has the message only of our own exceptions and of system errors: the message of a database
driver may contain rows, and that of a parser may contain the request.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import structlog

from deniable_aggregator.base.errors import AggregatorError
from deniable_gateway.errors import GatewayError
from deniable_gateway.logs import exception_chain

if TYPE_CHECKING:
    import logging

    from structlog.typing import EventDict, Processor, WrappedLogger


def formatter() -> logging.Formatter:
    """The format of every log line except requests."""
    return _formatter([structlog.processors.TimeStamper("%Y-%m-%dT%H:%M:%SZ", utc=True)])


def request_formatter() -> logging.Formatter:
    """The format of the access log, without a time: the epoch is the only time of a report."""
    return _formatter([])


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
        event["exception"] = list(exception_chain(error, own=(AggregatorError, GatewayError)))
    return event


def _flat_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Turn each exception into one line for people."""
    if "exception" in event:
        event["exception"] = "\n".join(
            f"{each['type']}: {each.get('said', '')}\n    " + "\n    ".join(each["at"])
            for each in event["exception"]
        )
    return event
