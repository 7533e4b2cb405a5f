"""Estimates the error and cost of a question before it is asked: a `Plan` from domain, ε and users.

Everything is computed by formula from the p and q of the coins; nothing is drawn. Intervals are
those that a collection will show, for a population, by the rules of `estimate`; only if one ends
at 0 or 1 it is narrower.
Source: docs/mathematics/planning.md, How many reports.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.collections.planning.anonymity import (
    DELTA,
    LIARS,
    Anonymity,
    shuffle_anonymity,
    shuffled_epsilon,
)
from deniable_aggregator.collections.planning.scenario import Scenario
from deniable_aggregator.collections.planning.variance import HalfWidth
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.randomness.dyadic import format_epsilon, parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.domains import Domain

REPEATS = ("once", "fresh", "memoized")
_LARGEST = Fraction(20)
_THOUSANDTHS = 1000
_FIRST, _LAST = 10, 20_000  # thousandths of ε that are tried
_LIARS = 0.01
MOST_USERS = 10**12


@dataclass(frozen=True, slots=True)
class RepeatCost:
    """One way to ask again: its cost for a device over all epochs, and the errors."""

    repeat: str
    mechanism: str
    epsilon_lifetime: float
    std_error: float  # of one epoch
    std_error_all: float  # of all epochs, if every device answers in each
    linkage: float  # bits by which two reports show that one device sent both


@dataclass(frozen=True, slots=True)
class Plan:
    """The document of `deniable plan`; every error is in shares of 1."""

    type: str
    domain: int
    epsilon: str
    users: int
    repeat: str
    asks: str
    about: str  # the quantity that the errors are about
    mechanism: str
    parameters: Mapping[str, int]
    reason: str
    ratio_to_optimum: float | None
    ratio_unknown: str | None  # why there is no ratio
    payload_bytes: int
    confidence: float
    frequency: float
    std_error: float
    half_width: float
    half_width_wanted: float
    users_needed: int
    epsilon_needed: str | None
    smallest_detectable: float | None
    power: float
    influence: float | None
    influence_of_one_percent: float | None
    epochs: int
    repeats: tuple[RepeatCost, ...]
    identified: bool  # whether reports identify their person
    shuffle_epsilon: float
    shuffle_delta: str
    relay: Anonymity | None

    def to_json(self) -> dict[str, object]:
        """The plan as a JSON object."""
        return asdict(self)


def plan(  # noqa: PLR0913  (published: each is a part of the question)
    domain: Domain | int,
    epsilon: str | int | Fraction,
    users: int,
    *,
    domain_type: str = "choice",
    asks: str = "labels",
    mechanism: str | None = None,
    half_width: float = 0.01,
    confidence: float = 0.95,
    frequency: float | None = None,
    population: bool = True,
    repeat: str = "once",
    permanent: str | int | Fraction | None = None,
    epochs: int = 30,
    linkable: bool = False,
    power: float = 0.8,
    delta: str = DELTA,
    batch: int | None = None,
    liars: float = LIARS,
    identified: bool = False,
) -> Plan:
    """The errors of `users` reports of a domain at ε, and the users or ε for a half-width.

    `domain`: a domain, or the size of one of `type`; for a text its most bytes. `asks`: for a
    number also "mean" or "ranges". `frequency`: errors are those of a label of this frequency, by
    default 0, or ½ for bits; for means, ranges, tables and texts they are those of `targets`.
    `population`: errors for a population, as in the intervals of a collection, else for the people
    who answer. `permanent`: ε of a permanent answer, by default 2 ε. `batch`: also compute the ε
    that remains if a relay passes on this many reports together, a share `liars` of them fake.
    `identified`: reports identify their person, as by a voucher, so shuffling does not help.
    Raises ParameterError for an impossible argument.
    """
    scenario = Scenario.of(domain, domain_type, asks, mechanism, linkable)
    report = parse_epsilon(epsilon)
    kept = default_permanent_epsilon(report) if permanent is None else parse_epsilon(permanent)
    _check(users, half_width, confidence, repeat, epochs, power)
    if identified and batch is not None:
        raise ParameterError("batch must be left out: shuffling hides no report that is identified")
    f = default_frequency(scenario.type) if frequency is None else frequency
    shows = HalfWidth(users, confidence, population)
    chosen = scenario.answer(report, kept if repeat == "memoized" else None, shows)
    linkage(chosen.mechanism)  # ParameterError for a chain of which it is not known
    precision = scenario.precision(chosen.mechanism, f, population)
    has_influence = scenario.target is None or scenario.target.influence
    ratio = chosen.ratio_to_optimum
    return Plan(
        type=scenario.type,
        domain=scenario.size,
        epsilon=format_epsilon(report),
        users=users,
        repeat=repeat,
        asks=asks,
        about=scenario.about(f),
        mechanism=chosen.id,
        parameters=scenario.pinned(chosen.id, report),
        reason=chosen.reason,
        ratio_to_optimum=None if ratio is None else float(ratio),
        ratio_unknown=scenario.unknown if ratio is None else None,
        payload_bytes=chosen.mechanism.payload_size,
        confidence=confidence,
        frequency=f,
        std_error=precision.std_error(users),
        half_width=shows(precision),
        half_width_wanted=half_width,
        users_needed=precision.reports_for(half_width, confidence),
        epsilon_needed=_epsilon_needed(
            scenario,
            shows,
            half_width,
            f,
            times=kept / report if repeat == "memoized" else None,
        ),
        smallest_detectable=precision.detectable(users, confidence=confidence, power=power),
        power=power,
        influence=precision.influence(users) if has_influence else None,
        influence_of_one_percent=precision.shift_by(_LIARS) if has_influence else None,
        epochs=epochs,
        repeats=tuple(_repeats(scenario, report, kept, shows, epochs, f)),
        identified=identified,
        shuffle_epsilon=float(report)
        if identified
        else shuffled_epsilon(chosen.mechanism, users, delta),
        shuffle_delta=delta,
        relay=None
        if batch is None
        else shuffle_anonymity(
            chosen.mechanism,
            batch=batch,
            liars=liars,
            repeat=repeat,
            lifetime=_prices(report, kept, epochs)[repeat],
            delta=delta,
        ),
    )


def default_permanent_epsilon(report: Fraction) -> Fraction:
    """The ε of a permanent answer if none is named."""
    return min(2 * report, _LARGEST)


def default_frequency(domain_type: str) -> float:
    """The default frequency of the label whose error is shown."""
    return 0.5 if domain_type == "bits" else 0.0


def _check(
    users: int, half_width: float, confidence: float, repeat: str, epochs: int, power: float
) -> None:
    for name, number in (("users", users), ("epochs", epochs)):
        if isinstance(number, bool) or number < 1:
            raise ParameterError(f"{name} must be at least 1, got {number}")
    if users > MOST_USERS:
        raise ParameterError(f"users must be at most {MOST_USERS:,}, got {users:,}")
    for name, share in (("half_width", half_width), ("confidence", confidence), ("power", power)):
        if not 0 < share < 1:
            raise ParameterError(f"{name} must be strictly between 0 and 1, got {share}")
    if repeat not in REPEATS:
        raise ParameterError(f"repeat must be one of {', '.join(REPEATS)}, got {repeat!r:.40}")


def _epsilon_needed(
    scenario: Scenario,
    shows: HalfWidth,
    half_width: float,
    frequency: float,
    *,
    times: Fraction | None,
) -> str | None:
    """The least ε with three decimals and at most this half-width; None if 20 is not enough.

    With `times`: of one report whose permanent answer costs that many times as much.
    """

    def enough(thousandths: int) -> bool:
        report = Fraction(thousandths, _THOUSANDTHS)
        answer = scenario.answer(report, None if times is None else times * report, shows)
        return (
            shows(scenario.precision(answer.mechanism, frequency, shows.population)) <= half_width
        )

    low, high = _FIRST - 1, int(_LAST if times is None else _LAST / times)
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return format_epsilon(Fraction(high, _THOUSANDTHS))


def _prices(report: Fraction, kept: Fraction, epochs: int) -> dict[str, Fraction]:
    """The ε that a device pays over `epochs` epochs, by way to repeat."""
    return {"once": report, "fresh": epochs * report, "memoized": kept}


def _repeats(
    scenario: Scenario,
    report: Fraction,
    kept: Fraction,
    shows: HalfWidth,
    epochs: int,
    frequency: float,
) -> list[RepeatCost]:
    prices = _prices(report, kept, epochs)
    costs = []
    for repeat, price in prices.items():
        if repeat == "memoized" and kept <= report:
            continue
        chosen = scenario.answer(report, kept if repeat == "memoized" else None, shows)
        if repeat == "memoized" and chosen.mechanism.structure is None:
            continue
        precision = scenario.precision(chosen.mechanism, frequency, shows.population)
        whole = (precision.over(epochs, repeat=repeat) / shows.users) ** 0.5
        one, shared = precision.std_error(shows.users), linkage(chosen.mechanism)
        costs.append(RepeatCost(repeat, chosen.id, float(price), one, whole, shared))
    return costs
