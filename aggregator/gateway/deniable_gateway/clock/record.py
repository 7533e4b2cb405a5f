"""The clock's record in a data directory: two small files, mode 0600, each replaced in one step.

    clock.json              the last trusted moment, once a minute
    clock-confirmed.json    the moment of the last `deniable doctor confirm-clock`

Neither is synced to disk: a lost minute changes nothing, and a damaged file counts as none.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from deniable_gateway.clock.reading import Reading

if TYPE_CHECKING:
    from pathlib import Path

NAME = "clock.json"
CONFIRMED = "clock-confirmed.json"
OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class ClockRecord:
    """`tick`: the last trusted moment.

    `settled` is a wall time that was trusted at `mark` or before; see `ClockWatch.settled`.
    """

    tick: Reading
    mark: Reading
    settled: float


def read(data: Path) -> ClockRecord | None:
    """Return the record; None if there is none or it is damaged."""
    try:
        document = json.loads((data / NAME).read_bytes())
        return ClockRecord(
            _reading(document["tick"]), _reading(document["mark"]), _finite(document["settled"])
        )
    except (OSError, TypeError, ValueError, KeyError):
        return None


def write(data: Path, record: ClockRecord) -> None:
    """Replace clock.json."""
    _replace(data / NAME, asdict(record))


def confirmed(data: Path) -> Reading | None:
    """Return the moment of the last confirmation; None if there was none."""
    try:
        return _reading(json.loads((data / CONFIRMED).read_bytes()))
    except (OSError, TypeError, ValueError, KeyError):
        return None


def write_confirmed(data: Path, now: Reading) -> None:
    """Confirm the clock at this moment, for running processes and for the next start."""
    write(data, ClockRecord(now, now, 0.0))
    _replace(data / CONFIRMED, asdict(now))


def _reading(document: dict[str, object]) -> Reading:
    return Reading(_finite(document["wall"]), _finite(document["boot"]), str(document["boot_id"]))


def _finite(value: object) -> float:
    number = float(str(value))
    if not math.isfinite(number):
        raise ValueError(f"not a time: {number}")
    return number


def _replace(path: Path, document: object) -> None:
    """Replace the file. Each process has its own draft, as several share a data directory."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        if os.geteuid() == 0:  # the service must read it, and seldom runs as root
            folder = path.parent.stat()
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
        json.dump(document, file)
    draft.replace(path)
