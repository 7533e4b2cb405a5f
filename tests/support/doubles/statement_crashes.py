"""A crash at the k-th statement, without killing a process.

At that moment the files are copied as they are, which is what a killed process leaves; from then on
every statement fails, so nothing the code under test does afterwards reaches the copy.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch


class Killed(BaseException):
    """The end of the process."""


@dataclass
class Killer:
    """Kills before statement `at` (the first is 0) and keeps the files in `grave`."""

    at: int
    source: Path
    grave: Path
    seen: int = 0
    asleep: bool = False

    @property
    def dead(self) -> bool:
        """Whether it has happened."""
        return self.seen > self.at

    def strike(self) -> None:
        """Count one statement."""
        if self.asleep:
            return
        if self.seen == self.at:
            self._bury()
        self.seen += 1
        if self.dead:
            raise Killed

    def _bury(self) -> None:
        self.grave.mkdir()
        for suffix in ("", "-wal"):
            file = Path(f"{self.source}{suffix}")
            if file.exists():
                shutil.copy(file, self.grave / (self.source.name + suffix))


@contextmanager
def killed_before(killer: Killer) -> Iterator[None]:
    """Let `killer` watch every connection opened inside, until the end of the block."""

    class Watched(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            killer.strike()
            return super().execute(*arguments)

    connect: Callable[..., sqlite3.Connection] = sqlite3.connect
    with patch.object(
        sqlite3, "connect", lambda *args, **named: connect(*args, factory=Watched, **named)
    ):
        try:
            yield
        finally:
            killer.asleep = True
