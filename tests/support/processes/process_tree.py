"""A process and all its descendants, parents first."""

from __future__ import annotations

import subprocess

__all__ = ["family"]


def family(pid: int) -> list[int]:
    """Parents before their children."""
    listed = subprocess.run(["/bin/ps", "-eo", "pid=,ppid="], capture_output=True, check=True)
    parents = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    actual = [pid]
    for member in actual:
        actual += [child for child, parent in parents if parent == member]
    return actual
