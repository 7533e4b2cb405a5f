"""The best mechanism for each size and ε of a grid.

Rows are sizes: labels, bits, steps of a number, bytes of a text; for records how many labels each
attribute has. The error is that of one report: of n it is √n times smaller. Choices are those for
many users.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_aggregator.collections.planning.plan import (
    default_frequency,
    default_permanent_epsilon,
)
from deniable_aggregator.collections.planning.scenario import Scenario
from deniable_shared.domains import Record
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

Radices = tuple[int, ...]

SIZES = (2, 5, 16, 64, 100, 256, 1_000, 10_000, 60_000)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "6")
RECORDS: tuple[Radices, ...] = (
    (2, 2),
    (2, 3, 4),
    (2,) * 5,
    (4,) * 3,
    (2,) * 10,
    (10,) * 2,
    (3,) * 5,
    (10,) * 3,
)
_OTHERS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "bits": (2, 5, 16, 64, 100, 256, 1_000),
        "text": (4, 8, 16, 32, 64),
        "mean": (2, 5, 16, 64, 256, 1_000),
        "ranges": (5, 16, 64, 256, 1_000),
    }
)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The choice for one domain and ε; `attributes`: label counts of a record."""

    domain: int
    attributes: Radices | None
    epsilon: str
    mechanism: str
    payload_bytes: int
    ratio_to_optimum: float | None
    std_error_of_one: float


def sizes_of(domain_type: str, asks: str = "labels") -> Sequence[int | Radices]:
    """The rows of the table for a type of domain and a target."""
    return (
        RECORDS if domain_type == "record" else _OTHERS.get(domain_type, _OTHERS.get(asks, SIZES))
    )


def decisions(
    sizes: Sequence[int | Radices] = SIZES,
    epsilons: Sequence[str | Fraction] = EPSILONS,
    *,
    domain_type: str = "choice",
    asks: str = "labels",
    repeat: str = "once",
    linkable: bool = False,
) -> list[SweepPoint]:
    """One choice for each size and ε, sizes first; a size of records is one of `Radices`.

    "memoized" uses a permanent answer of twice the ε. Raises ParameterError if impossible.
    """
    if not sizes or not epsilons:
        raise ParameterError("sizes and epsilons must name at least one each")
    points = []
    for size in sizes:
        domain = size if isinstance(size, int) else record_of(size)
        scenario = Scenario.of(domain, domain_type, asks, None, linkable)
        points += [_choice(scenario, size, epsilon, repeat) for epsilon in epsilons]
    return points


def record_of(radices: Radices) -> Record:
    """A record with these numbers of labels, and placeholder names."""
    return Record(
        tuple(
            (f"attribute {place + 1}", tuple(f"label {each + 1}" for each in range(radix)))
            for place, radix in enumerate(radices)
        )
    )


def radices_text(radices: Radices) -> str:
    """A text like "2×3×4", or "2^10" for many equal numbers."""
    if len(radices) > 3 and len({*radices}) == 1:
        return f"{radices[0]}^{len(radices)}"
    return "×".join(map(str, radices))


def _choice(
    scenario: Scenario, size: int | Radices, epsilon: str | Fraction, repeat: str
) -> SweepPoint:
    report = parse_epsilon(epsilon)
    chosen = scenario.answer(
        report, default_permanent_epsilon(report) if repeat == "memoized" else None
    )
    precision = scenario.precision(chosen.mechanism, default_frequency(scenario.type), True)
    ratio = chosen.ratio_to_optimum
    return SweepPoint(
        scenario.size,
        None if isinstance(size, int) else size,
        str(epsilon),
        chosen.id,
        chosen.mechanism.payload_size,
        None if ratio is None else float(ratio),
        precision.std_error(1),
    )
