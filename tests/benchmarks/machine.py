"""What the figures were measured on, and how busy it was."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from importlib import metadata
from pathlib import Path

LIBRARIES = ("cryptography", "flask", "granian", "httpx", "numpy", "scipy", "sqlite-utils")
SYNCS = 50


def describe() -> list[tuple[str, str]]:
    """(what, which) rows of the header."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    return [
        ("processor", f"{_processor()}, {os.cpu_count()} logical cores"),
        ("memory", f"{_memory_gib():.0f} GiB"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("SQLite", sqlite3.sqlite_version),
        ("libraries", versions),
        ("durable write", f"{sync_seconds() * 1e6:,.0f} µs (median of {SYNCS} fdatasync of 4 KiB)"),
    ]


def load() -> str:
    """The load averages of 1 and 5 minutes, ours included."""
    one, five, _ = os.getloadavg()
    return f"{one:.1f} / {five:.1f}"


def sync_seconds() -> float:
    """Median time of a durable 4 KiB append where temporary files live."""
    with tempfile.TemporaryFile() as file:
        times = []
        for _ in range(SYNCS):
            started = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
