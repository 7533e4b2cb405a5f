"""Messages about stored counts and entries that differ from their checksum."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deniable_gateway.problem import Problem
from deniable_shared.manifest.epochs import epoch_start

if TYPE_CHECKING:
    from deniable_aggregator.base.errors import DamagedError
    from deniable_shared.manifest.model import Manifest


def sentence(error: DamagedError, newest: Manifest | None) -> str:
    """What is damaged and what to do, with a date if the collection is known."""
    period = ""
    if error.epoch is not None and newest is not None:
        period = f" of {_date(error.epoch, newest.epoch_seconds)}"
    return (
        f"the database has damaged {error.what} of {error.collection}{period}: they are not shown. "
        "Run `deniable doctor` to see all damage, then restore a backup with "
        "`deniable store restore`"
    )


def problem_of(error: DamagedError, newest: Manifest | None) -> Problem:
    """The refusal of a request that needs damaged data."""
    return Problem("damaged", sentence(error, newest), collection=error.collection)


def _date(epoch: int, epoch_seconds: int) -> str:
    """The day when the epoch began. A damaged number may be no date at all."""
    try:
        begun = datetime.fromtimestamp(epoch_start(epoch, epoch_seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return "an unknown day"
    return f"{begun:%Y-%m-%d}" if epoch_seconds % 86_400 == 0 else f"{begun:%Y-%m-%d %H:%M} UTC"
