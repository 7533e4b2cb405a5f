"""What a line of the log says, and what no line can say."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from deniable_aggregator.base import logs
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.postgres.pool import translate_errors
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_gateway.logs import exception_chain
from deniable_gateway.problem import Problem
from deniable_shared.errors import DecodeError

SECRET = "0123456789abcdef"


def line(
    message: str, *arguments: object, error: BaseException | None = None, name: str = "deniable.x"
) -> str:
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, logging.ERROR, "f.py", 1, message, arguments, info)
    return logs.formatter().format(record)


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def test_a_line_is_one_json_object_with_time_level_logger_and_event() -> None:
    found = json.loads(line("a commit of %d reports failed", 3))
    assert found["event"] == "a commit of 3 reports failed"
    assert (found["level"], found["logger"]) == ("error", "deniable.x")
    assert found["timestamp"].endswith("Z")


def test_a_request_has_no_time() -> None:
    record = logging.LogRecord("granian.access", logging.INFO, "f.py", 1, "GET '/' 200", (), None)
    assert set(json.loads(logs.request_formatter().format(record))) == {"level", "logger", "event"}


def test_a_line_break_forges_no_line() -> None:
    assert "\n" not in line("x %s", 'y\n{"event": "forged"}')


@pytest.mark.parametrize(
    "error",
    [
        DecodeError(f"the body holds {SECRET}"),
        ValueError(SECRET),
        Problem("invalid-message", SECRET),
        sqlite3.IntegrityError(SECRET),
        psycopg.errors.UniqueViolation(f"Key (id)=({SECRET}) exists"),
        KeyError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_log_line_has_type_and_place_of_an_exception_not_its_message(
    error: Exception,
) -> None:
    said = line(
        "it failed", error=raised(StoreError(f"the database refuses: {SECRET}"), raised(error))
    )
    assert SECRET not in said
    outer, inner = json.loads(said)["exception"]
    assert (outer["type"], outer["said"]) == ("StoreError", "the database refuses")
    assert inner["type"] == type(error).__name__
    assert inner["at"][-1].endswith(" raised")


def test_what_the_system_says_is_told_without_the_file_it_says_it_of() -> None:
    error = raised(OSError(28, "No space left on device", f"/{SECRET}"))
    said = line("it failed", error=error)
    assert "No space left on device" in said
    assert SECRET not in said


def test_the_rows_that_postgresql_speaks_of_are_not_in_a_refusal() -> None:
    def refused() -> None:
        with translate_errors():
            raise psycopg.errors.UniqueViolation(f"duplicate key\nDETAIL: Key (id)=({SECRET})")

    with pytest.raises(StoreError) as found:
        refused()
    assert SECRET not in line("it failed", error=found.value)


def test_a_refusal_of_the_database_is_told_by_its_code(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "x.db")
    with closing(sqlite3.connect(tmp_path / "x.db")) as beside:
        beside.execute("drop table tokens")
    with pytest.raises(StoreError) as found:
        store.tokens()
    store.close()
    outer, inner = json.loads(line("it failed", error=found.value))["exception"]
    assert (outer["said"], inner["said"]) == ("the database refuses", "SQLITE_ERROR")


def test_on_a_terminal_lines_are_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    said = line("it failed", error=raised(StoreError("the database refuses"), ValueError(SECRET)))
    assert "it failed" in said
    assert "StoreError: the database refuses" in said
    assert not said.startswith("{")
    assert SECRET not in said


def test_an_exception_that_is_its_own_cause_ends() -> None:
    error = raised(ValueError("x"))
    error.__cause__ = error
    assert len(list(exception_chain(error, own=()))) == 1
