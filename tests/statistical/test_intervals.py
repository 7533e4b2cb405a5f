"""Means, ranges, quantiles, tables and sets: coverage by exact sums, width, and no jumps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest

from benchmarks import intervals
from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.difference import (
    cautious_confidence,
    halved_miss_confidence,
    independent_mean_difference,
)
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.marginals import table_estimator
from deniable_estimators.inference.quantities import NumberEstimator, mean, quantiles
from deniable_estimators.inference.set_laws import set_law_of
from deniable_estimators.inference.sets import estimate_set
from deniable_estimators.inference.tables import IntervalSettings, table
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared.domains import Number, Record
from deniable_shared.mechanisms import Mechanism, build, for_domain
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.oracles.message_laws import generator
from support.oracles.number_laws import pmf_matrix, scale
from support.tiers import grid, rows

binom = import_module("scipy.stats").binom
COVERED = 0.945
WORST_TAIL = 1.2
"""How much oftener than asked for one end may miss: what is discrete has no exact tail."""
FALSE_ALARM = 1e-6
EPSILONS = ("0.5", "1", "2", "4")
SOME = ("0.5", "4")
SHARES = (0.0, 0.003, 0.03, 0.1, 0.5)
Misses = tuple[float, float]


@cache
def histograms(n: int, messages: int) -> Counts:
    """Every tally of n reports."""
    if messages == 1:
        return np.array([[n]])
    parts = [
        np.insert(histograms(n - first, messages - 1), 0, first, axis=1) for first in range(n + 1)
    ]
    return np.concatenate(parts)


def chances(tallies: Counts, law: Floats) -> Floats:
    """Of each tally, multinomially."""
    n = int(tallies[0].sum())
    ways = math.lgamma(n + 1) - np.array(
        [[math.lgamma(c + 1) for c in row] for row in tallies]
    ).sum(1)
    return np.asarray(np.exp(ways + tallies @ np.log(law)))


def missed(limits: Floats, truth: float, weights: Floats) -> Misses:
    """The chances that the lower limit is above the truth, and the upper one below."""
    lower, upper = limits.T
    return (
        float(weights[lower > truth + 1e-12].sum()),
        float(weights[upper < truth - 1e-12].sum()),
    )


def check(misses: Misses, tail: float) -> None:
    assert sum(misses) <= (1 - COVERED) / 0.05 * 2 * tail
    assert max(misses) <= WORST_TAIL * tail + 1e-12


@pytest.mark.parametrize("tail", [0.025, 1e-4])
@pytest.mark.parametrize("n", grid([1, 5, 20, 60], by_default=[5]))
@pytest.mark.parametrize("epsilon", grid(EPSILONS, by_default=SOME))
def test_means_ranges_and_quantiles_of_three_values_are_covered(
    epsilon: str, n: int, tail: float
) -> None:
    """Exactly, over all tallies: the mean, two ranges and the median."""
    mechanism, domain = build("grr/1", domain_size=3, epsilon=epsilon), scale(3)
    of, tallies = estimator_for(mechanism), histograms(n, 3)
    assert isinstance(of, LinearEstimator)
    rows = np.array([[0.0, 0.5, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    actual = [of.functionals(rows, each, n, confidence=1 - 2 * tail) for each in tallies]
    limits = np.array([[each.lower, each.upper] for each in actual])
    halves = [
        quantiles(of, domain, each, n, levels=[0.5], confidence=1 - 2 * tail)[0] for each in tallies
    ]
    places = np.array([[each.lower, each.upper] for each in halves])
    for share in SHARES:
        for people in ([1 - share, 0, share], [share, 1 - share, 0], [0, 1 - share, share]):
            weights = chances(tallies, people @ pmf_matrix(mechanism))
            for row, each in zip(rows, limits.transpose(2, 0, 1), strict=True):
                check(missed(each, float(row @ people), weights), tail)
            middle = float(np.searchsorted(np.cumsum(people), 0.5 - 1e-12))
            check(missed(places, middle, weights), tail)


@pytest.mark.parametrize("n", grid([200, 2_000], by_default=[200]))
@pytest.mark.parametrize("epsilon", grid(EPSILONS, by_default=SOME))
def test_means_of_two_values_are_covered_far_into_the_tail(epsilon: str, n: int) -> None:
    """The rule of scores, where `debias` would be exact: down to what 25,000 labels need."""
    mechanism = build("grr/1", domain_size=2, epsilon=epsilon)
    of, tallies, law = estimator_for(mechanism), histograms(n, 2), pmf_matrix(mechanism)
    assert isinstance(of, LinearEstimator)
    for tail in (0.025, 1e-4, 1e-6):
        every = [of.functionals(np.eye(2)[1:], t, n, confidence=1 - 2 * tail) for t in tallies]
        limits = np.array([[float(each.lower[0]), float(each.upper[0])] for each in every])
        for share in SHARES:
            weights = chances(tallies, np.array([1 - share, share]) @ law)
            check(missed(limits, share, weights), tail)


def counts_of(device: Floats, devices: int) -> Floats:
    """The law of a sum over so many devices."""
    size = (len(device) - 1) * devices + 1
    whole = np.fft.irfft(np.fft.rfft(device, 2 * size) ** devices, 2 * size)[:size]
    return np.maximum(whole, 0.0)


def law_of_a_device(mechanism: Mechanism, share: float, epochs: int) -> Floats:
    """How many of its reports say 1, if it answers each time and never changes."""
    coin: Callable[[float], Floats] = lambda p: np.array(  # noqa: E731  (one line shows it)
        [math.comb(epochs, k) * p**k * (1 - p) ** (epochs - k) for k in range(epochs + 1)]
    )
    if not isinstance(mechanism, MemoizedChain):
        of_one, of_other = coin(float(mechanism.p)), coin(float(mechanism.q))
        return share * of_one + (1 - share) * of_other
    first, kept = mechanism.first, float(mechanism.keep_probability)
    held = share * float(first.p) + (1 - share) * float(first.q)
    again = kept + (1 - kept) / 2
    return held * coin(again) + (1 - held) * coin(1 - again)


@pytest.mark.parametrize("devices", grid([3, 30, 300], by_default=[30]))
@pytest.mark.parametrize("epochs", grid([2, 12], by_default=[2]))
@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_means_of_several_epochs_are_covered(
    epsilon: str, repeat: str, epochs: int, devices: int
) -> None:
    """Exactly, where all devices answer each time: nothing spreads a count further."""
    permanent = {"permanent": str(2 * Fraction(epsilon))} if repeat == "memoized" else {}
    mechanism = build("grr/1", domain_size=2, epsilon=epsilon, **permanent)
    of, n = estimator_for(mechanism, repeat), devices * epochs
    assert isinstance(of, LinearEstimator)
    tallies = np.stack([n - np.arange(n + 1), np.arange(n + 1)], axis=1)
    for tail in (0.025, 1e-4):
        every = [
            of.functionals(np.eye(2)[1:], t, n, confidence=1 - 2 * tail, epochs=epochs)
            for t in tallies
        ]
        limits = np.array([[float(each.lower[0]), float(each.upper[0])] for each in every])
        for share in SHARES:
            weights = counts_of(law_of_a_device(mechanism, share, epochs), devices)
            check(missed(limits, share, weights), tail)


@pytest.mark.parametrize("n", grid([10, 100, 1_000], by_default=[10]))
@pytest.mark.parametrize("epsilon", grid(EPSILONS, by_default=["1"]))
@pytest.mark.parametrize("id", ["subset/1", "oue/1", "hadamard/1", "cyclic/1"])
def test_sets_are_covered(id: str, epsilon: str, n: int) -> None:
    """Exactly, by the law of how many of four of ten labels a report supports."""
    mechanism, members = build(id, domain_size=10, epsilon=epsilon), range(4)
    law = set_law_of(estimator_for(mechanism), np.array(members))
    for share in SHARES:
        one = np.zeros(len(members) + 1)
        for value, weight in ((0, share), (9, 1 - share)):
            for payload, chance in mechanism.pmf(value).items():
                k = sum(bool(mechanism.supports(payload, label)) for label in members)
                one[k] += weight * float(chance)
        weights = counts_of(one, n)
        some = np.flatnonzero(weights > 1e-14)
        for tail in (0.025, 1e-4):
            actual = [estimate_set(law, int(c), n, confidence=1 - 2 * tail) for c in some]
            limits = np.array([[each.lower, each.upper] for each in actual])
            check(missed(limits, share, weights[some]), tail)


def covered(
    read: intervals.Read, mechanism: Mechanism, share: Floats, truth: Floats, n: int
) -> None:
    """By simulation, each interval by itself; misses are binomial: false alarm ≤ 1e-6 over all."""
    of, draws, repeats = estimator_for(mechanism), generator(), 2_000
    hits = np.zeros(len(truth))
    for _ in range(repeats):
        people = draws.multinomial(n, share)
        tally = simulated_tally(mechanism, np.arange(len(share)), people, draws=draws)
        _, _, lower, upper = read(of, mechanism, tally, n)
        hits += (lower <= truth + 1e-12) & (truth - 1e-12 <= upper)
    assert repeats - hits.min() <= binom.isf(FALSE_ALARM / len(truth), repeats, 1 - COVERED)


def people_of(size: int, rare: float) -> Floats:
    """Most at one end, some at the other."""
    share = np.zeros(size)
    share[0], share[-1] = 1 - rare, rare
    return share


MEANS = ["optimal-mean/1", "haar/1", "square-wave/1", "tree/1"]


@pytest.mark.statistical
@pytest.mark.parametrize("rare", [0.01, 0.1])
@pytest.mark.parametrize(
    ("epsilon", "n"),
    rows(
        [("1", 50), ("4", 50), ("4", 300)], by_default=[("1", 50)], long=lambda row: row[0] == "4"
    ),
)
@pytest.mark.parametrize("id", grid(MEANS, by_default=MEANS[:2], long=MEANS))
def test_means_are_covered_where_few_are_at_the_other_end(
    id: str, epsilon: str, n: int, rare: float
) -> None:
    size = intervals.NUMBER.size
    share = people_of(size, rare)
    truth = np.array([share @ np.linspace(0, 1, size)])
    covered(intervals.of_mean, build(id, domain_size=size, epsilon=epsilon), share, truth, n)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "n"),
    rows(
        [("4", 20_000), ("1", 300), ("1", 20_000), ("4", 300)],
        by_default=[("4", 20_000)],
        long=[("1", 20_000), ("4", 300)],
    ),
)
@pytest.mark.parametrize("id", grid(MEANS, by_default=["haar/1"]))
def test_changes_of_means_are_covered_where_skews_are_opposite(
    id: str, epsilon: str, n: int
) -> None:
    """By simulation: most at one end, later at the other. False alarm at most 1e-6."""
    domain, repeats, size = scale(11), 1_000, 11
    mechanism, draws = build(id, domain_size=size, epsilon=epsilon), generator()
    of, missed = estimator_for(mechanism), 0
    shares = (people_of(size, 0.1), people_of(size, 0.9))
    truth = float((shares[1] - shares[0]) @ np.arange(size))
    for _ in range(repeats):
        tallies = [
            simulated_tally(mechanism, np.arange(size), draws.multinomial(n, share), draws=draws)
            for share in shares
        ]
        lower, upper = changed_mean(of, domain, tallies, n)
        missed += not lower - 1e-9 <= truth <= upper + 1e-9
    assert missed <= binom.isf(FALSE_ALARM, repeats, 1 - COVERED)


def changed_mean(
    of: NumberEstimator, domain: Number, tallies: Sequence[Counts], n: int
) -> tuple[float, float]:
    """As a comparison of reports of different devices at 95%."""
    (one, other), (first, second) = (
        [mean(of, domain, tally, n, confidence=sure) for tally in tallies]
        for sure in (cautious_confidence(0.95), halved_miss_confidence(0.95))
    )
    assert one and other and first and second  # noqa: PT018  (all four or none)
    found = independent_mean_difference(one, other, confidence=0.95)
    return found or (second.lower - first.upper, second.upper - first.lower)


@pytest.mark.statistical
@pytest.mark.parametrize("id", ["fourier/1", "pairs/1", "subset/1", "hadamard/1"])
@pytest.mark.parametrize(
    ("epsilon", "n"), rows([("1", 300), ("4", 300)], by_default=[("4", 300)], long=[("1", 300)])
)
def test_tables_are_covered(id: str, epsilon: str, n: int) -> None:
    domain = Record(tuple((name, ("no", "yes")) for name in "abcd"))
    mechanism = for_domain(id, domain, Fraction(epsilon))
    share = people_of(16, 0.05)

    def read(of: object, mechanism: Mechanism, tally: Counts, n: int) -> tuple[Floats, ...]:
        result = table(table_estimator(of, mechanism, domain), tally, n, (0, 1), IntervalSettings())  # type: ignore[arg-type]  # a table's estimator for any mechanism
        return result.frequencies, result.std_errors, result.lower, result.upper

    covered(read, mechanism, share, np.array([0.95, 0, 0, 0.05]), n)


WIDTHS = list(intervals.widths())
USUAL_WIDTHS = {wide.title for wide in WIDTHS[2::6]}
USUAL_PROMISES = {asked.title for asked in intervals.PROMISES[2::6]}


@pytest.mark.parametrize(
    "asked",
    grid(intervals.PROMISES, by_default=lambda asked: asked.title in USUAL_PROMISES),
    ids=lambda asked: asked.title,
)
def test_a_plan_promises_what_is_then_shown(asked: intervals.Asked) -> None:
    planned = asked.planned()
    actual, _ = intervals.shown(asked.read, asked.mechanism(planned), planned.users, 20)
    assert planned.half_width == pytest.approx(actual, rel=intervals.PROMISED)


@pytest.mark.parametrize(
    "wide",
    grid(WIDTHS, by_default=lambda wide: wide.title in USUAL_WIDTHS),
    ids=lambda wide: wide.title,
)
def test_intervals_are_little_wider_than_normal_ones(wide: intervals.Wide) -> None:
    for n in wide.sizes:
        actual, normal = intervals.shown(wide.read, wide.mechanism, n, 10)
        assert actual <= intervals.WIDEST * normal


@pytest.mark.parametrize("epsilon", grid(["1", "4"], by_default=["4"]))
@pytest.mark.parametrize("id", ["optimal-mean/1", "haar/1", "square-wave/1"])
def test_no_interval_jumps_as_a_collection_grows(id: str, epsilon: str) -> None:
    """From 200 reports to 10,000, each time 5% more of the same."""
    mechanism = build(id, domain_size=11, epsilon=epsilon)
    of, law = estimator_for(mechanism), np.full(11, 1 / 11) @ pmf_matrix(mechanism)
    actual = []
    for step in range(81):
        tally = np.rint(200 * 1.05**step * law).astype(np.int64)
        _, _, lower, upper = intervals.of_mean(of, mechanism, tally, int(tally.sum()))
        actual.append(float(upper[0] - lower[0]))
    assert all(before / 1.1 <= after <= before * 1.03 for before, after in pairwise(actual))
