"""A prepared data directory, and a clock that a test sets.

Preparing migrates a database and makes keys. This happens once for each test session and kind of
database; then it is copied.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import initialise
from support.processes import postgres_server

__all__ = ["DAY", "NOON", "TODAY", "Moment", "prepared", "prepared_at", "prepared_on_postgres"]

NOON = 1_800_014_400.0  # 2027-01-15 12:00 UTC
DAY = 86_400
TODAY = int(NOON) // DAY


@dataclass
class Moment:
    """A clock that moves only on request."""

    now: float = NOON

    def __call__(self) -> float:
        return self.now


def prepared(folder: Path) -> Settings:
    """Settings of a copy of a data directory, with its operator key, made at NOON."""
    shutil.copytree(_template(), folder, dirs_exist_ok=True)
    return Settings(data=folder / "data")


def prepared_at(folder: Path, now: float, store: str = "") -> Settings:
    """As `prepared`, made at that moment: for real processes, whose clock is the machine's."""
    settings = Settings(data=folder / "data", store=store)
    initialise(settings, operator_key=folder / "operator.key", now=now)
    return settings


def prepared_on_postgres(folder: Path) -> Settings:
    """The same with a database in the session's PostgreSQL server, which the caller drops."""
    template, name = _postgres_template()
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return Settings(data=folder / "data", store=postgres_server.copy(name))


@cache
def _postgres_template() -> tuple[Path, str]:
    folder, name = _temporary(), "prepared"
    settings = Settings(data=folder / "data", store=postgres_server.empty(name))
    initialise(settings, operator_key=folder / "operator.key", now=NOON)
    return folder, name


@cache
def _template() -> Path:
    folder = _temporary()
    initialise(Settings(data=folder / "data"), operator_key=folder / "operator.key", now=NOON)
    return folder


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="deniable-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
