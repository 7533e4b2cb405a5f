"""Whether the kernel says that its clock is synchronised with a time server.

Linux sets the flag STA_UNSYNC whenever anybody sets the clock, and only a time service (chrony,
ntpd, systemd-timesyncd) clears it. So a flag that is clear after a step was cleared after the step.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

STA_UNSYNC = 0x0040
TIME_ERROR = 5
MOST_APART_SECONDS = 300

_LONGS_TO_STATUS = 4  # offset, freq, maxerror, esterror
_LONGS_TO_TIME = 3  # constant, precision, tolerance


class _Timex(ctypes.Structure):
    """The start of the kernel's `struct timex`, and room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("_errors", ctypes.c_long * _LONGS_TO_STATUS),
        ("status", ctypes.c_int),
        ("_constants", ctypes.c_long * _LONGS_TO_TIME),
        ("seconds", ctypes.c_long),
        ("_rest", ctypes.c_char * 512),
    )


def synchronised(now: float) -> bool:
    """Whether a time service keeps the kernel's clock, and `now` is the kernel's time.

    A wall clock that is not the kernel's, such as a faked one, is never synchronised. False, too,
    where the kernel cannot be asked: then an operator has to confirm.
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
