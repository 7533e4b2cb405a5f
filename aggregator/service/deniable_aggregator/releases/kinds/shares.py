"""`shares`: the share of people with a number in each of some ranges.

One linear reading for each range (`linear_reading`), all with two-sided geometric noise. Equal
parts make a histogram of the number.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter
from deniable_aggregator.releases.kinds.noisy_sums import NoisySums, PreparedSums, estimate_rows
from deniable_aggregator.releases.kinds.number_readings import number_reading, numbers_only
from deniable_shared.errors import DomainError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_shared.domains import Number

MOST_RANGES = 256
PARAMETERS = (
    Parameter(
        "ranges",
        'like "10..20", both ends included, several between commas; or a number of equal parts of '
        f"all numbers, at most {MOST_RANGES}",
    ),
    EPSILON,
)
VERSION = 1
_PARTS = re.compile(r"[0-9]{1,4}")
_BETWEEN = ".."

Range = tuple[int, int]


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSums:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("shares", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    domain = numbers_only("shares", context.domain)
    ranges = read_ranges(complete["ranges"], domain)
    names = tuple(f"{domain.decode(low)}..{domain.decode(high)}" for low, high in ranges)
    titles = tuple(name.replace(_BETWEEN, " to ") for name in names)

    def show(sums: NoisySums) -> Mapping[str, object]:
        return {"estimates": estimate_rows(titles, sums)}

    return PreparedSums(
        mechanism="shares",
        version=VERSION,
        parameters={"ranges": ", ".join(names), "epsilon": decimal_text(epsilon)},
        epsilon=epsilon,
        reading=number_reading("shares", context, _rows(ranges, domain.size)),
        show=show,
        quantity="error of each frequency",
    )


def read_ranges(value: object, domain: Number) -> list[Range]:
    """The first and the last place of each range."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and _PARTS.fullmatch(value.strip()):
        return _equal_parts(int(value), domain.size)
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_RANGES:
        raise ParameterError(f"ranges must be 1 to {MOST_RANGES} like 10..20, got {value!r:.80}")
    ranges = [_range(each, domain) for each in given]
    if len({*ranges}) != len(ranges):
        raise ParameterError(f"ranges must each be named once, got {value!r:.80}")
    return ranges


def _range(text: object, domain: Number) -> Range:
    ends = [end.strip() for end in str(text).split(_BETWEEN)]
    if not isinstance(text, str) or len(ends) != 2:
        raise ParameterError(f"ranges must be like 10..20, got {text!r:.80}")
    try:
        first, last = (domain.place(end) for end in ends)
    except DomainError as error:
        raise ParameterError(
            f"ranges must have ends among {domain.steps}, got {text!r:.80}"
        ) from error
    if first > last or last - first == domain.size - 1:
        raise ParameterError(
            f"ranges must rise and not contain all numbers, got {text!r:.80}: the share of all "
            "is known without a release"
        )
    return first, last


def _equal_parts(parts: int, size: int) -> list[Range]:
    """Ranges as equal as the steps allow."""
    if not 2 <= parts <= min(MOST_RANGES, size):
        raise ParameterError(
            f"ranges must be 2 to {min(MOST_RANGES, size)} equal parts here, got {parts:,}"
        )
    ends = [size * part // parts for part in range(parts + 1)]
    return [(low, high - 1) for low, high in pairwise(ends)]


def _rows(ranges: Sequence[Range], size: int) -> Counts:
    places = np.arange(size)[None, :]
    first, last = (np.array(ends)[:, None] for ends in zip(*ranges, strict=True))
    return ((first <= places) & (places <= last)).astype(np.int64)
