"""The wall clock and the boot clock at one moment, and the step of the wall clock between two.

The boot clock counts seconds since the machine started, sleep included. It cannot be set. So the
wall clock has stepped by as much as the two moved apart.

The kernel says whether its clock is synchronised with a time server. Linux sets the flag STA_UNSYNC
whenever the clock is set, and only a time service (chrony, ntpd, systemd-timesyncd) clears it. So a
flag that is clear after a step was cleared after the step.
"""

from __future__ import annotations

import ctypes
import secrets
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class Reading:
    """Unix seconds by the wall clock, and seconds since the boot with that id."""

    wall: float
    boot: float
    boot_id: str


def boot_time() -> float:
    """Return the seconds since this machine started; the monotonic clock without a boot clock."""
    return time.clock_gettime(_BOOT_CLOCK)


@cache
def boot_id() -> str:
    """Return the id of this boot of the machine, or of this process if the system has none."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return secrets.token_hex(16)


def step_since(before: Reading, now: Reading) -> float:
    """The seconds by which the wall clock was set ahead (negative: back) between two moments.

    Between two boots only a step back can be seen: any gap is possible.
    """
    if _same_boot(before, now):
        return (now.wall - before.wall) - (now.boot - before.boot)
    return min(0.0, now.wall - before.wall)


def age_of(before: Reading, now: Reading) -> float:
    """Return the seconds between two moments, by the boot clock if both are of one boot."""
    return now.boot - before.boot if _same_boot(before, now) else now.wall - before.wall


def _same_boot(before: Reading, now: Reading) -> bool:
    return before.boot_id == now.boot_id


STA_UNSYNC = 0x0040
TIME_ERROR = 5
MOST_APART_SECONDS = 300

_LONGS_TO_STATUS = 4  # offset, freq, maxerror, esterror
_LONGS_TO_TIME = 3  # constant, precision, tolerance


class _Timex(ctypes.Structure):
    """The start of the kernel's `struct timex`, and space for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("_errors", ctypes.c_long * _LONGS_TO_STATUS),
        ("status", ctypes.c_int),
        ("_constants", ctypes.c_long * _LONGS_TO_TIME),
        ("seconds", ctypes.c_long),
        ("_rest", ctypes.c_char * 512),
    )


def synchronised(now: float) -> bool:
    """Return whether a time service keeps the kernel's clock, and `now` is the kernel's time.

    A wall clock that is not the kernel's, such as a simulated one, is never synchronised. Also
    False if the kernel cannot be asked: then an operator must confirm.
    """
    timex = _Timex(modes=0)  # changes nothing
    state = _adjtimex(timex)
    return (
        state not in (-1, TIME_ERROR)
        and not timex.status & STA_UNSYNC
        and abs(timex.seconds - now) <= MOST_APART_SECONDS
    )


def _adjtimex(timex: _Timex) -> int:
    call = _call()
    return -1 if call is None else int(call(ctypes.byref(timex)))


@cache
def _call() -> ctypes._FuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "adjtimex", None)
