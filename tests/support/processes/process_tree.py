"""A process and all its descendants, parents first."""

from __future__ import annotations

import subprocess

__all__ = ["family"]


def family(pid: int) -> list[int]:
    """Parents before their children."""
    listed = subprocess.run(["/bin/ps", "-eo", "pid=,ppid="], capture_output=True, check=True)
    parents = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = [pid]
    for member in found:
        found += [child for child, parent in parents if parent == member]
    return found
