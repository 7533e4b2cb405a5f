"""Seconds of processor time that a tree of processes used."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from support.processes.descendants import PROC, command_line, descendants

__all__ = ["Spent", "spent_by"]

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Spent:
    """`java` is what Java's machines used themselves, `others` all else."""

    java: float
    others: float

    def __sub__(self, before: Spent) -> Spent:
        """What was spent since."""
        return Spent(self.java - before.java, self.others - before.others)


def spent_by(roots: Iterable[int]) -> Spent:
    """By these processes and all below them, also those that have ended and were waited for."""
    java = others = 0.0
    for pid in {actual for root in roots for actual in (root, *descendants(root))}:
        own, ended = _times(pid)
        runs_java = command_line(pid).partition(" ")[0].endswith("java")
        java += own if runs_java else 0.0
        others += ended if runs_java else own + ended
    return Spent(java, others)


def _times(pid: int) -> tuple[float, float]:
    """Of the process itself, and of its children that have ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0.0
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return (user + system) / TICKS, (ended_user + ended_system) / TICKS
