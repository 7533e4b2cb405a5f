"""The difference of two periods: exact coverage, in small cases and at the worst dependence."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import debias
from deniable_estimators.inference.difference import (
    MANY,
    Differences,
    PeriodEstimate,
    cautious_confidence,
    difference,
    halved_miss_confidence,
    independent_mean_difference,
)
from deniable_estimators.inference.quantities import Quantity, mean
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import build
from support.oracles.number_laws import scale
from support.tiers import grid

CHANNEL = Channel(Fraction(3, 4), Fraction(1, 4))
ONLY_SUPPORTS = Channel(Fraction(1), Fraction(0))
FREQUENCIES = (0.0, 0.02, 0.3, 0.5, 0.8, 1.0)


def period(
    counts: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    channel: Channel = CHANNEL,
    hidden: Clusters | None = None,
) -> PeriodEstimate:
    """Every count as a label of its own; with `hidden` a device may be in the other period, too."""
    every, cautious = (
        debias(channel, counts, n, confidence=sure)
        for sure in (confidence, halved_miss_confidence(confidence))
    )
    return PeriodEstimate(every, cautious, hidden, once=hidden is None)


def pairs(first: Counts, second: Counts, n: int, **more: object) -> Differences:
    """All pairs of counts, the first one the slower."""
    before = period(np.repeat(first, len(second)), n, **more)  # type: ignore[arg-type]  # one dict has values of many types
    after = period(np.tile(second, len(first)), n, **more)  # type: ignore[arg-type]  # one dict has values of many types
    return difference(before, after)


def misses(found: Differences, truth: float, chances: Floats) -> tuple[float, float]:
    """The chances that the interval lies above and below the truth."""
    above, below = found.lower > truth + 1e-12, found.upper < truth - 1e-12
    return float(chances[above].sum()), float(chances[below].sum())


@pytest.mark.parametrize("confidence", grid([0.8, 0.95, 0.9999], by_default=[0.95]))
@pytest.mark.parametrize("channel", [CHANNEL, ONLY_SUPPORTS], ids=["noisy", "plain"])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_independent_periods_are_covered_at_every_small_n(
    n: int, channel: Channel, confidence: float
) -> None:
    counts, q, gap = np.arange(n + 1), float(channel.q), float(channel.gap)
    actual = pairs(counts, counts, n, confidence=confidence, channel=channel)
    for before, after in product(FREQUENCIES, repeat=2):
        laws = [binom.pmf(counts, n, q + gap * each) for each in (before, after)]
        for miss in misses(actual, after - before, np.outer(*laws).ravel()):
            assert miss <= (1 - confidence) / 2 * (1 + 1e-9)


@pytest.mark.slow
def test_any_joint_law_of_few_reports_is_covered() -> None:
    """The worst joint law of two counts puts all it can of both marginal laws on the misses."""
    n, tail = 6, 0.05
    counts = np.arange(n + 1)
    actual = pairs(counts, counts, n, confidence=1 - 2 * tail)
    for before, after in product(FREQUENCIES, repeat=2):
        laws = [binom.pmf(counts, n, 0.25 + 0.5 * each) for each in (before, after)]
        missed = (actual.lower > after - before + 1e-12).reshape(n + 1, n + 1)
        assert _most_on(missed, *laws) <= tail * (1 + 1e-9)


def _most_on(cells: np.ndarray, first: Floats, second: Floats) -> float:
    """The largest chance of `cells` under any joint law with these marginals (a linear program)."""
    from scipy.optimize import linprog

    rows, columns = cells.shape
    sums = np.vstack(
        [np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))]
    )
    solved = linprog(-cells.ravel().astype(float), A_eq=sums, b_eq=np.concatenate([first, second]))
    return -float(solved.fun)


def around(n: int, chance: float) -> Counts:
    reach = 9 * np.sqrt(n * chance * (1 - chance)) + 1
    return np.arange(max(0, int(n * chance - reach)), min(n, int(n * chance + reach)) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", grid([0.8, 0.95, 0.99999], by_default=[0.95]))
@pytest.mark.parametrize(
    "supports",
    grid(
        [(0.5, 0.5), (0.27, 0.4), (0.62, 0.38), (0.06, 0.3)],
        by_default=[(0.27, 0.4)],
    ),
)
def test_roots_of_squares_cover_independent_periods(
    supports: tuple[float, float], confidence: float
) -> None:
    n = int(1.2 * MANY / min(supports))
    counts = [around(n, each) for each in supports]
    actual = pairs(counts[0], counts[1], n, confidence=confidence, channel=ONLY_SUPPORTS)
    laws = [binom.pmf(c, n, each) for c, each in zip(counts, supports, strict=True)]
    for miss in misses(actual, supports[1] - supports[0], np.outer(*laws).ravel()):
        assert miss <= (1 - confidence) / 2


@pytest.mark.slow
@pytest.mark.parametrize("frequency", grid([0.5, 0.4], by_default=[0.4]))
def test_devices_in_both_periods_with_opposite_values_are_covered(frequency: float) -> None:
    n, tail = 2_400, 0.025
    hidden = Clusters(CHANNEL.q, CHANNEL.p, Fraction(1))
    supports = [0.25 + 0.5 * frequency, 0.75 - 0.5 * frequency]
    counts = [around(n, each) for each in supports]
    actual = pairs(counts[0], counts[1], n, hidden=hidden)
    truth = 1 - 2 * frequency
    missed = (actual.lower > truth).reshape(len(counts[0]), len(counts[1]))
    chance = 0.0
    for ones in around(n, frequency):  # given how many have it at first, the counts are independent
        first, second = (
            _sum_of_coins(n, each)[c] for each, c in zip((ones, n - ones), counts, strict=True)
        )
        chance += float(binom.pmf(ones, n, frequency) * (first @ missed @ second))
    assert 0.4 * tail < chance <= tail


def _sum_of_coins(n: int, ones: int) -> Floats:
    high = binom.pmf(np.arange(ones + 1), ones, 0.75)
    return np.convolve(high, binom.pmf(np.arange(n - ones + 1), n - ones, 0.25))


def test_intervals_narrow_with_what_is_known_of_the_two_periods() -> None:
    counts, n = np.array([4_000]), 8_000
    widths = []
    for hidden in (None, Clusters(CHANNEL.q, CHANNEL.p, Fraction(1))):
        actual = difference(period(counts, n, hidden=hidden), period(counts, n, hidden=hidden))
        widths.append(float((actual.upper - actual.lower)[0]))
    known = period(counts, n)
    wide = PeriodEstimate(known.estimate, known.cautious, None, once=False)
    apart = difference(wide, wide)
    assert widths[0] < widths[1] < float((apart.upper - apart.lower)[0])


def test_few_devices_are_compared_without_a_normal_law() -> None:
    few = difference(period(np.array([400]), 800), period(np.array([400]), 800))
    cautious = period(np.array([400]), 800).cautious
    assert few.upper[0] == cautious.upper[0] - cautious.lower[0]


def test_a_label_that_no_report_tells_of_may_have_changed_in_any_way() -> None:
    actual = difference(period(np.array([0]), 0), period(np.array([9]), 20))
    assert np.isnan(actual.values[0])
    assert actual.lower[0] <= -0.9
    assert not actual.changed[0]


@pytest.mark.parametrize("repeat", ["once", "fresh"])
def test_a_period_of_one_epoch_knows_that_its_devices_may_come_again(repeat: str) -> None:
    estimator = estimator_for(build("grr/1", domain_size=4, epsilon="1"), repeat)
    tally = np.array([900, 800, 700, 600])
    made = PeriodEstimate.of(estimator, tally, 3_000, confidence=0.95, epochs=1, family="all")
    assert (made.hidden is None) == (repeat == "once")
    assert made.evidence is not None
    wide = difference(made, made)
    assert (wide.lower < 0).all()
    assert (wide.upper > 0).all()


def test_numbers_are_not_compared_label_by_label() -> None:
    mechanism = build("square-wave/1", domain_size=8, epsilon="1")
    tally = np.zeros(mechanism.tally_size, np.int64)
    with pytest.raises(ParameterError, match="only labels"):
        PeriodEstimate.of(
            estimator_for(mechanism), tally, 0, confidence=0.9, epochs=1, family="all"
        )


def means(epsilon: str, n: int, confidence: float) -> tuple[list[Quantity], list[Quantity], Floats]:
    """Of 0 or 1 for every count of 1: limits to combine, cautious ones, and the law's ends."""
    mechanism = build("grr/1", domain_size=2, epsilon=epsilon)
    of, tallies = estimator_for(mechanism), [np.array([n - c, c]) for c in range(n + 1)]
    combined, apart = (
        [_mean(of, each, n, sure) for each in tallies]
        for sure in (cautious_confidence(confidence), halved_miss_confidence(confidence))
    )
    return combined, apart, np.array([float(mechanism.q), float(mechanism.p)])


def _mean(of: object, tally: Counts, n: int, confidence: float) -> Quantity:
    found = mean(of, scale(2), tally, n, confidence=confidence)  # type: ignore[arg-type]  # any estimator of labels
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", grid([30, 300, 1_000], by_default=[30, 300]))
@pytest.mark.parametrize("confidence", grid([0.95, 1 - 0.05 / 6], by_default=[0.95]))
@pytest.mark.parametrize("epsilon", grid(["1", "4", "8"], by_default=["1"]))
def test_changes_of_means_are_covered_at_the_ends_and_between(
    epsilon: str, confidence: float, n: int
) -> None:
    """Exactly, over all pairs of tallies; each end misses by itself at most as often as it may."""
    combined, apart, ends = means(epsilon, n, confidence)
    counts = np.arange(n + 1)
    shares = (0.0, 0.02, 0.3, 0.7, 0.98, 1.0)
    laws = {each: binom.pmf(counts, n, ends[0] + (ends[1] - ends[0]) * each) for each in shares}
    likely = np.flatnonzero(np.sum([*laws.values()], axis=0) > 1e-9)
    limits = np.array(
        [
            [
                independent_mean_difference(combined[one], combined[other], confidence=confidence)
                or (apart[other].lower - apart[one].upper, apart[other].upper - apart[one].lower)
                for other in likely
            ]
            for one in likely
        ]
    )
    for before, after in product(shares, repeat=2):
        chances, truth = np.outer(laws[before][likely], laws[after][likely]), after - before
        for missed in (limits[..., 0] > truth + 1e-12, limits[..., 1] < truth - 1e-12):
            assert chances[missed].sum() <= (1 - confidence) / 2


def test_distances_of_means_are_combined_as_roots_of_squares() -> None:
    before, after = (
        _mean(estimator_for(build("grr/1", domain_size=2, epsilon="1")), tally, 50_000, sure)
        for sure in [cautious_confidence(0.95)]
        for tally in (np.array([30_000, 20_000]), np.array([29_000, 21_000]))
    )
    found = independent_mean_difference(before, after, confidence=0.95)
    assert found is not None
    width = 1.96 * np.hypot(before.std_error, after.std_error)
    assert (found[1] - found[0]) / 2 == pytest.approx(width, rel=0.04)
    assert sum(found) / 2 == pytest.approx(after.value - before.value, rel=0.02)


@pytest.mark.parametrize("tally", [[0, 0], [20, 30], [800, 200]], ids=["none", "few", "at an end"])
def test_distances_of_means_without_a_normal_law_are_not_combined(tally: list[int]) -> None:
    of, sure = estimator_for(build("grr/1", domain_size=2, epsilon="1")), cautious_confidence(0.95)
    many = _mean(of, np.array([30_000, 20_000]), 50_000, sure)
    other = _mean(of, np.array(tally), sum(tally), sure)
    assert independent_mean_difference(many, many, confidence=0.95) is not None
    assert independent_mean_difference(many, other, confidence=0.95) is None
    assert independent_mean_difference(other, many, confidence=0.95) is None
