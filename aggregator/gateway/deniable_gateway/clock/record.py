"""What a data directory remembers of the clock: two small files, 0600, each replaced in one step.

    clock.json              the last moment at which the clock was believed, once a minute
    clock-confirmed.json    the moment of the last `deniable doctor confirm-clock`

Neither is synced to disk: a lost minute changes nothing, and a damaged file is as good as none.
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
    """`tick`: the last moment at which the clock was believed.

    `settled` is a wall time that was believed at `mark` or before; see `ClockWatch.settled`.
    """

    tick: Reading
    mark: Reading
    settled: float


def read(data: Path) -> ClockRecord | None:
    """None where there is none, or a damaged one."""
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
    """The moment of the last confirmation; None where there was none."""
    try:
        return _reading(json.loads((data / CONFIRMED).read_bytes()))
    except (OSError, TypeError, ValueError, KeyError):
        return None


def write_confirmed(data: Path, now: Reading) -> None:
    """Confirm the clock as it is at this moment, to processes that run and to the next start."""
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
    """Each process has a draft of its own: several share a data directory."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        if os.geteuid() == 0:  # the service, which reads it, is seldom root
            folder = path.parent.stat()
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
        json.dump(document, file)
    draft.replace(path)
