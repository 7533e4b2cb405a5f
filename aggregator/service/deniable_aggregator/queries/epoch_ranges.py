"""`from` and `to`: epoch indices, days or moments, inclusive, as a span of epochs."""

from __future__ import annotations

from datetime import date

from msgspec import UnsetType

from deniable_aggregator.queries.pooled_tallies import LAST_EPOCH, EpochRange
from deniable_gateway.problem import refuse
from deniable_shared.manifest.epochs import day_start, epoch_at

DAY_SECONDS = 86_400
MILLISECOND_DIGITS = 11
ACCEPTED = "an epoch index (0 to 4294967295) or a date (YYYY-MM-DD, UTC)"


def epoch_range(first: str | UnsetType, last: str | UnsetType, epoch_seconds: int) -> EpochRange:
    """The epochs from `first` to `last`; a day means all epochs that start on it.

    Raises invalid-argument for another value, and for a span without an epoch.
    """
    low = 0 if isinstance(first, UnsetType) else _bounds("from", first, epoch_seconds)[0]
    high = LAST_EPOCH if isinstance(last, UnsetType) else _bounds("to", last, epoch_seconds)[1]
    if low > high:
        raise refuse("to", accepted=_not_before(first, low), given=last)
    return EpochRange(low, high)


def moments_range(first: str | UnsetType, last: str | UnsetType, epoch_seconds: int) -> EpochRange:
    """As `epoch_range`; either end may also be unix milliseconds, the epoch of that moment."""
    begins, ends = (_of_moment(text, epoch_seconds) for text in (first, last))
    return epoch_range(begins, ends, epoch_seconds)


def _of_moment(text: str | UnsetType, epoch_seconds: int) -> str | UnsetType:
    if isinstance(text, UnsetType) or "-" in text or len(text) < MILLISECOND_DIGITS:
        return text
    return str(min(epoch_at(int(text) / 1000, epoch_seconds), LAST_EPOCH))


def epoch_index(argument: str, text: str) -> int:
    """An epoch index from digits. Raises invalid-argument."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or int(text) > LAST_EPOCH:
        raise refuse(argument, accepted="an epoch index from 0 to 4294967295", given=text)
    return int(text)


def _bounds(argument: str, text: str, epoch_seconds: int) -> tuple[int, int]:
    """First and last epoch of an argument; first > last for a day on which none starts."""
    if "-" not in text:
        index = epoch_index(argument, text)
        return index, index
    day = _day(argument, text)
    first, after = (-(-second // epoch_seconds) for second in (day, day + DAY_SECONDS))
    return min(first, LAST_EPOCH), min(after - 1, LAST_EPOCH)


def _day(argument: str, text: str) -> int:
    try:
        day = day_start(date.fromisoformat(text.strip()))
    except ValueError as error:
        raise refuse(argument, accepted=ACCEPTED, given=text) from error
    if day < 0:
        raise refuse(argument, accepted="a date from 1970-01-01 on", given=text)
    return day


def _not_before(first: str | UnsetType, low: int) -> str:
    """The accepted values; also explains a day on which no epoch starts."""
    since = "the first" if isinstance(first, UnsetType) else str(first)
    return f"at or after epoch {low} ({since}), on a day when an epoch starts"
