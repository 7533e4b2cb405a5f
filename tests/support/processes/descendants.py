"""Processes that a process started, directly or not."""

from __future__ import annotations

from pathlib import Path

__all__ = ["alive", "command_line", "descendants"]

PROC = Path("/proc")


def descendants(pid: int) -> list[int]:
    """Children before theirs, each in the order they were started."""
    actual: list[int] = []
    for child in _children(pid):
        actual += [child, *descendants(child)]
    return actual


def alive(pid: int) -> bool:
    """Whether it runs; one that waits to be buried does not."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def command_line(pid: int) -> str:
    """As it was started; empty for one that is gone."""
    try:
        return (PROC / str(pid) / "cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _children(pid: int) -> list[int]:
    actual: set[int] = set()
    for task in (PROC / str(pid) / "task").glob("*/children"):
        try:
            actual |= set(map(int, task.read_text().split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(actual)
