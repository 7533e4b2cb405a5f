"""What a command left behind: processes and files."""

from __future__ import annotations

from pathlib import Path


def processes_of(temporary: Path) -> list[int]:
    """Processes whose environment names this TMPDIR."""
    wanted = f"TMPDIR={temporary}\0".encode()
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/environ")
        if holds(path, wanted)
    ]


def holds(path: Path, wanted: bytes) -> bool:
    """Whether a file of another process, which may end meanwhile, holds these bytes."""
    try:
        return wanted in path.read_bytes()
    except OSError:
        return False


def nothing_left(temporary: Path) -> bool:
    """Neither a process nor a file."""
    return not processes_of(temporary) and not list(temporary.iterdir())
