"""The wall clock and the boot clock at one moment, and what two such moments say of the wall clock.

The boot clock counts seconds since the machine started, sleep included. Nobody can set it, so the
wall clock has stepped by as much as the two moved apart.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class Reading:
    """Unix seconds by the wall clock, and seconds since the boot of that id."""

    wall: float
    boot: float
    boot_id: str


def boot_time() -> float:
    """Seconds since this machine started; the monotonic clock where there is no boot clock."""
    return time.clock_gettime(_BOOT_CLOCK)


@cache
def boot_id() -> str:
    """Names this boot of the machine; where the system does not say, only this process."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return secrets.token_hex(16)


def step_since(before: Reading, now: Reading) -> float:
    """Seconds by which the wall clock was set ahead (back, if negative) between two moments.

    Between two boots only a step back can be seen: any gap is possible.
    """
    if _same_boot(before, now):
        return (now.wall - before.wall) - (now.boot - before.boot)
    return min(0.0, now.wall - before.wall)


def age_of(before: Reading, now: Reading) -> float:
    """Seconds from one moment to the other, by the boot clock where both are of one boot."""
    return now.boot - before.boot if _same_boot(before, now) else now.wall - before.wall


def _same_boot(before: Reading, now: Reading) -> bool:
    return before.boot_id == now.boot_id
