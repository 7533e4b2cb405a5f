"""Exact audits of releases at 100,000 reports: the laws of two neighbours, outcome by outcome.

Neighbours differ in the pair of messages that moves the law, or the sums, the most. The other
reports are spread over the messages so that the answer is about to change, and some more of them
lean towards one message: a selection parts its neighbours by ε only if one candidate is ahead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations, product
from types import MappingProxyType
from typing import Any

import numpy as np

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.allocate import PreparedAllocation
from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext, Tallies, TallyPart
from deniable_aggregator.releases.kinds.histogram import PreparedHistogram
from deniable_aggregator.releases.kinds.median import PreparedMedian
from deniable_aggregator.releases.kinds.mwem import PreparedMwem
from deniable_aggregator.releases.kinds.noisy_sums import PreparedSums
from deniable_aggregator.releases.kinds.ordered_scores import propose_first_crossing
from deniable_aggregator.releases.kinds.queries import PreparedQuerySession
from deniable_aggregator.releases.kinds.randomized_counts import RandomizedCounts
from deniable_aggregator.releases.kinds.selection import PreparedSelection
from deniable_central.pmf import Pmf
from deniable_central.queries import OnlinePlan
from deniable_central.samplers.noise import probability
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import context, messages
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import hockey_stick
from support.oracles.online_pmf import online_pmf
from support.tiers import by_tier

REPORTS = 100_000
COHORTS = 64
LEANS = by_tier((0, 2, 64), (0, 1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, 64))
"""How many reports more have one message, instead of another."""
NOISE = 24
"""The most noise of a measurement that the laws of `mwem` and of a session list."""
ASKED = np.array([[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 0, 0]])
"""The questions of a session: a report of label 1 instead of 0 moves all of them."""
SUMS = PreparedSums | PreparedHistogram | PreparedAllocation
_ALMOST_0 = Fraction(1, 10**6)

Neighbours = tuple[Tallies, Tallies]
Laws = tuple[Pmf[Any], Pmf[Any]]


@dataclass(frozen=True)
class Audit:
    """A kind of release over one mechanism, with its arguments."""

    kind: str
    built: Mechanism
    arguments: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    labels: tuple[str, ...] | None = None
    epochs: int = 1
    cohorts: int = 1

    def prepared(self) -> Any:
        """The release. A session learns once, so that few questions can spend its whole ε."""
        release = prepare(self.kind, {"epsilon": "1", **self.arguments}, self._context)
        if isinstance(release, PreparedQuerySession):
            third = sum(release.linear.epsilons, Fraction(0)) / 3
            linear = release.linear
            plan = OnlinePlan(linear.demand, (third, third, third), 1, linear.threshold)
            return replace(release, linear=plan)
        return release

    @property
    def _context(self) -> ReleaseContext:
        return context(
            self.built,
            REPORTS,
            labels=self.labels,
            epochs=self.epochs,
            cohorts=self.cohorts,
            numbers=self.kind in ("mean", "shares"),
        )

    def neighbours(self, release: Any) -> Iterator[Neighbours]:
        """Databases of REPORTS reports that differ in one."""
        every = np.array(messages(self.built))
        parts = self.epochs * self.cohorts
        sizes = [REPORTS // parts + (place < REPORTS % parts) for place in range(parts)]
        even = [_spread(every, size) for size in sizes]
        if self.cohorts > 1:
            yield from _divided(sizes, every)
            return
        kept = _undecided(release, even[0], every) - every[0]
        one, other = _worst(release, kept, every)
        rest = [_part(counts, sizes[0], epoch=1) for counts in even[1:]]
        for towards, lean in product(_directions(one, other, every), LEANS):
            leaning = kept + lean * towards
            mine, theirs = (_part(leaning + each, sizes[0]) for each in (one, other))
            yield Tallies((mine, *rest)), Tallies((theirs, *rest))


def _spread(every: Counts, size: int) -> Counts:
    """The tally of so many reports, of each message as many but for one."""
    times = np.full(len(every), size // len(every))
    times[: size % len(every)] += 1
    return np.asarray(times @ every, dtype=np.int64)


def _part(counts: Counts, size: int = REPORTS, *, epoch: int = 0, cohort: int = 0) -> TallyPart:
    return TallyPart(epoch, cohort, size, counts.astype(np.int64))


def _whole(counts: Counts) -> Tallies:
    return Tallies((_part(counts),))


def _divided(sizes: list[int], every: Counts) -> Iterator[Neighbours]:
    """Cohorts of one label each: the first, the second, one of the third, and one undecided.

    One report decides that cohort between the first and the second label.
    """
    for ahead in range(len(sizes) // 2 - 1, len(sizes) - 2):
        behind = len(sizes) - 2 - ahead
        sure = [every[0]] * ahead + [every[1]] * behind + [every[2]]
        rest = [
            _part(size * label, size, cohort=place + 1)
            for place, (size, label) in enumerate(zip(sizes[1:], sure, strict=True))
        ]
        half = (sizes[0] - 1) // 2
        kept = half * (every[0] + every[1]) + (sizes[0] - 1 - 2 * half) * every[2]
        mine, theirs = (_part(kept + each, sizes[0]) for each in every[:2])
        yield Tallies((mine, *rest)), Tallies((theirs, *rest))


def _worst(release: Any, kept: Counts, every: Counts) -> tuple[Counts, Counts]:
    """The two messages that move the law the most, else the integers that noise is added to."""
    pairs = list(combinations(every, 2))
    if hasattr(release, "pmf") and not isinstance(release, SUMS):
        both = [(_whole(kept + one), _whole(kept + other)) for one, other in pairs]
        moved = [_apart(release, *laws(release, each)) for each in both]
    else:
        said = [(readings(release, kept + a), readings(release, kept + b)) for a, b in pairs]
        moved = [float(np.abs(one - other).sum()) for one, other in said]
    return pairs[int(np.argmax(moved))]


def _apart(release: Any, one: Pmf[Any], other: Pmf[Any]) -> float:
    """How far the log-ratios spread; where δ > 0, how much of one law the other lacks."""
    if release.guarantee.delta:
        return float(hockey_stick(one, other, _ALMOST_0)[1])
    each = ratios(one, other)
    return max(each) - min(each)


def _directions(one: Counts, other: Counts, every: Counts) -> list[Counts]:
    """From one message of the pair to the other, and from a third one to each."""
    thirds = [each for each in every if (each != one).any() and (each != other).any()]
    return [one - other, *(each - third for third in thirds[-1:] for each in (one, other))]


def _undecided(release: Any, even: Counts, every: Counts) -> Counts:
    """The even tally with as many reports of one message changed as it takes to flip the answer."""
    if isinstance(release, PreparedQuerySession):
        return np.asarray(even + release.linear.threshold * np.array([1, 1, -1, -1]))
    first = _best(release, even)
    most = REPORTS // len(every) - 1
    for one, other in product(every[:8], every[:8]):
        if _best(release, even + most * (one - other)) != first:
            low, high = 0, most
            while high - low > 1:
                middle = (low + high) // 2
                same = _best(release, even + middle * (one - other)) == first
                low, high = (middle, high) if same else (low, middle)
            return np.asarray(even + high * (one - other))
    return even


def _best(release: Any, counts: Counts) -> object:
    """The answer without noise, if it is one of several."""
    if isinstance(release, PreparedSelection):
        return int(release.score.levels(counts).argmax())
    if isinstance(release, PreparedMedian):
        return propose_first_crossing(release.score, counts).answer
    return None


def readings(release: Any, counts: Counts) -> Counts:
    """The integers of one tally that noise is added to."""
    match release:
        case PreparedSums():
            return release.reading(counts)
        case PreparedMwem():
            return RandomizedCounts.of(release.context, _whole(counts)).counts
        case PreparedQuerySession():
            return RandomizedCounts.of(release.context, _whole(counts)).observe(ASKED)
    sums: Counts = release.label_counts(counts)
    return sums


def noiseless(release: Any, tallies: Tallies) -> tuple[int, ...]:
    """All sums, one epoch after the other."""
    parts = tallies.by_epoch().values()
    return tuple(chain.from_iterable(readings(release, part.counts).tolist() for part in parts))


def laws(release: Any, pair: Neighbours) -> Laws:
    """The laws of the draw from both, certified; of noisy sums at the two true ones."""
    match release:
        case PreparedSums() | PreparedHistogram() | PreparedAllocation():
            sums = [noiseless(release, each) for each in pair]
            one, other = (_at(release.decay, each, sums) for each in sums)
        case PreparedMwem():
            data = [RandomizedCounts.of(release.context, each) for each in pair]
            one, other = (mwem_pmf(release.linear, each, reach=NOISE) for each in data)
        case PreparedQuerySession():
            data = [RandomizedCounts.of(release.context, each) for each in pair]
            one, other = (online_pmf(release.linear, d, list(ASKED), reach=NOISE) for d in data)
        case _:
            one, other = (release.pmf(each) for each in pair)
    return one, other


def _at(decay: Fraction, sums: tuple[int, ...], outcomes: list[tuple[int, ...]]) -> Pmf[Any]:
    """The law of noisy sums at these outcomes."""
    lower, upper = [], []
    for outcome in outcomes:
        bounds = [probability(decay, k - s) for k, s in zip(outcome, sums, strict=True)]
        lower.append(math.prod((low for low, _ in bounds), start=Fraction(1)))
        upper.append(math.prod((high for _, high in bounds), start=Fraction(1)))
    return Pmf(tuple(outcomes), tuple(lower), tuple(upper))


@dataclass(frozen=True)
class Found:
    """The largest ln(P/Q), the most that two of them differ; the largest δ if the price has one."""

    epsilon: float
    range: float
    delta: Fraction


def exact(audit: Audit, release: Any) -> Found:
    """What all neighbours of the audit show, both ways."""
    epsilon, apart, delta = 0.0, 0.0, Fraction(0)
    for pair in audit.neighbours(release):
        one, other = laws(release, pair)
        each = ratios(one, other)
        epsilon, apart = max(epsilon, max(each), -min(each)), max(apart, max(each) - min(each))
        if release.guarantee.delta:
            for p, q in ((one, other), (other, one)):
                delta = max(delta, hockey_stick(p, q, release.guarantee.epsilon)[1])
    return Found(epsilon, apart, delta)


def ratios(one: Pmf[Any], other: Pmf[Any]) -> list[float]:
    """ln(P(y)/Q(y)) of each y that both laws list, where both are known well."""
    theirs = dict(zip(other.outcomes, zip(other.lower, other.upper, strict=True), strict=True))
    return [
        _log(high) - _log(theirs[outcome][0])
        for outcome, low, high in zip(one.outcomes, one.lower, one.upper, strict=True)
        if outcome in theirs and _sharp(low, high) and _sharp(*theirs[outcome])
    ]


def _sharp(low: Fraction, high: Fraction) -> bool:
    """In whole numbers, which need no common divisors: high − low < low / 10^6."""
    least = low.numerator * high.denominator
    return (high.numerator * low.denominator - least) * _ALMOST_0.denominator < least


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
