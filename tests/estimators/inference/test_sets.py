"""Sums over declared sets: the law of a report's supports by enumeration, and intervals by law."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from deniable_estimators.inference import set_laws as known_sets
from deniable_estimators.inference.set_laws import (
    checked_set,
    estimate_label_set,
    permanent_law_of,
    set_law_of,
)
from deniable_estimators.inference.sets import SetLaw, estimate_set, tail_of_known
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.oracles.message_laws import MessageLaw
from support.tiers import by_tier, grid, rows

IDS = [
    "affine/1",
    "cyclic/1",
    "grr/1",
    "hadamard/1",
    "oue/1",
    "projective/1",
    "subset/1",
    "sue/1",
]
EXACT = {"grr/1", "hadamard/1", "oue/1", "subset/1", "sue/1"}
SIZE = 6


def built(id: str, size: int = SIZE, *, chain: bool = False, epsilon: str = "1") -> Mechanism:
    permanent = 2 * Fraction(epsilon) if chain else None
    return mechanisms.build(id, domain_size=size, epsilon=epsilon, permanent=permanent)


@cache
def pmf(mechanism: Any, value: int) -> dict[bytes, Fraction]:
    law: dict[bytes, Fraction] = mechanism.pmf(value)
    return law


@cache
def held_by(mechanism: Any, message: bytes) -> frozenset[int]:
    return frozenset(v for v in range(SIZE) if mechanism.supports(message, v))


def moments(mechanism: Any, members: tuple[int, ...], value: int) -> tuple[Fraction, ...]:
    """E k, E k² and the largest range of k, over the exact law of messages."""
    law = pmf(mechanism, value)
    held = {y: len(held_by(mechanism, y) & set(members)) for y in law}
    mean = sum((chance * held[y] for y, chance in law.items()), Fraction())
    square = sum((chance * held[y] ** 2 for y, chance in law.items()), Fraction())
    return mean, square, Fraction(max(held.values()) - min(held.values()))


@pytest.mark.deeper
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("id", IDS)
def test_moments_are_those_of_all_messages_for_every_set_and_value(id: str, *, chain: bool) -> None:
    mechanism = built(id, chain=chain)
    for size in (1, 3) if chain else (1, 2, 3, 5):
        for members in list(combinations(range(SIZE), size))[:: by_tier(8, 1)]:
            law = set_law_of(estimator_for(mechanism), np.array(members))
            squares: dict[bool, list[Fraction]] = {True: [], False: []}
            for value in range(SIZE):
                inside = value in members
                mean, square, reach = moments(mechanism, members, value)
                assert mean == law.mean(int(inside))
                squares[inside].append(square)
                assert id in {"oue/1", "sue/1"} or reach <= law.reach
            assert max(squares[True]) == law.inside
            assert max(squares[False]) == law.outside
            assert id not in EXACT or min(squares[True]) == law.inside


@pytest.mark.parametrize("chain", [False, True])
def test_supports_of_a_unary_report_are_an_independent_coin_and_binomial(*, chain: bool) -> None:
    """So the pieces that the sum of many reports is made of have range 1."""
    mechanism, members = built("oue/1", 3, chain=chain), (0, 1)
    p, q = mechanism.p, mechanism.q
    for value, own in ((0, p), (2, q)):
        law = {0: Fraction(), 1: Fraction(), 2: Fraction()}
        for y, chance in mechanism.pmf(value).items():
            law[sum(bool(mechanism.supports(y, v)) for v in members)] += chance
        assert law == {0: (1 - own) * (1 - q), 1: own * (1 - q) + (1 - own) * q, 2: own * q}


def test_the_bound_for_large_affine_designs_is_above_the_exact_moments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism, members = built("affine/1", 30), np.arange(12)
    exact = set_law_of(estimator_for(mechanism), members)
    monkeypatch.setattr(known_sets, "_MOST_MESSAGES", 0)
    bound = set_law_of(estimator_for(mechanism), members)
    assert exact.inside < bound.inside < 2 * exact.inside
    assert exact.outside < bound.outside < 2 * exact.outside


@pytest.mark.parametrize(
    ("id", "repeat"),
    rows(
        product(IDS, ("once", "fresh", "memoized")),
        by_default=lambda row: row[1] != "memoized" or row[0] in {"grr/1", "cyclic/1", "oue/1"},
    ),
)
def test_the_variance_is_at_least_that_of_devices_in_every_epoch(id: str, repeat: str) -> None:
    """Two epochs of a device that never changes, by enumeration of pairs of reports."""
    mechanism, members, share = built(id, chain=repeat == "memoized"), (0, 2), Fraction(1, 3)
    weights = {0: share / 2, 2: share / 2, 1: (1 - share) / 4}
    weights |= dict.fromkeys((3, 4, 5), (1 - share) / 4)
    mean, square = Fraction(), Fraction()
    for value, weight in weights.items():
        for permanent, chance in _held(mechanism, value):
            once = _law_of_k(mechanism, permanent, members)
            first = sum((k * one for k, one in once.items()), Fraction())
            second = sum((k * k * one for k, one in once.items()), Fraction())
            mean += weight * chance * first
            square += weight * chance * (2 * second + 2 * first * first)
    span = 1 if repeat == "once" else 2
    truly = float(square - 4 * mean**2) if span == 2 else None
    estimator = estimator_for(mechanism)
    law, kept = (
        set_law_of(estimator, np.array(members)),
        permanent_law_of(estimator, np.array(members)),
    )
    count = round(10**6 * (law.mean(share)))
    actual = estimate_set(law, count, 10**6, span=span, kept=kept)
    ours = actual.std_error**2 * float((law.p - law.q) ** 2) * 10**6
    if truly is None:
        assert ours == pytest.approx(law.variance(float(share)), rel=1e-4)
    else:
        assert truly / 2 <= ours * (1 + 1e-4)
        assert id not in EXACT or ours == pytest.approx(truly / 2, rel=1e-4)


def _held(mechanism: Mechanism, value: int) -> list[tuple[object, Fraction]]:
    """What all reports of a device share, and its chance: the value or the permanent answer."""
    if isinstance(mechanism, MemoizedChain):
        return list(mechanism.first.pmf(value).items())
    return [(value, Fraction(1))]


def _law_of_k(mechanism: Mechanism, held: object, members: tuple[int, ...]) -> dict[int, Fraction]:
    if isinstance(mechanism, MemoizedChain):
        assert isinstance(held, bytes)
        law = mechanism.first.rerandomized_pmf(held, mechanism.renewal_threshold)
    else:
        assert isinstance(held, int)
        law = mechanism.pmf(held)
    counts: dict[int, Fraction] = {}
    for y, chance in law.items():
        k = sum(bool(mechanism.supports(y, v)) for v in members)
        counts[k] = counts.get(k, Fraction()) + chance
    return counts


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("members", [(0,), (1, 3), (0, 1, 2, 3, 4)])
def test_the_frequency_of_a_set_is_the_sum_of_those_of_its_labels(
    id: str, members: tuple[int, ...]
) -> None:
    law = MessageLaw(built(id))
    tally = law.draw_tallies({0: Fraction(1, 2), 4: Fraction(1, 2)}, 5000, 1)[0]
    estimate = law.estimator.estimate(tally, 5000)
    actual = estimate_label_set(law.estimator, law.mechanism, tally, 5000, members)
    assert actual.frequency == pytest.approx(estimate.frequencies[list(members)].sum(), abs=1e-12)
    assert 0 <= actual.lower <= min(max(actual.frequency, 0), 1) <= actual.upper <= 1
    if len(members) == 1:
        assert actual.lower == pytest.approx(estimate.lower[members[0]], abs=1e-12)
        assert actual.upper == pytest.approx(estimate.upper[members[0]], abs=1e-12)


def missed(id: str, n: int, share: Fraction, tail: float, members: tuple[int, ...]) -> float:
    """The exact chance of an interval that leaves out the truth: convolution of the law of k."""
    mechanism = built(id)
    inside, outside = members[0], min(set(range(SIZE)) - set(members))
    law = np.zeros(SIZE + 1)
    for value, weight in ((inside, share), (outside, 1 - share)):
        for k, chance in _law_of_k(mechanism, value, members).items():
            law[k] += float(weight * chance)
    if isinstance(mechanism, MemoizedChain):
        raise AssertionError("of one report a device")
    size = SIZE * n + 1
    chances = np.fft.irfft(np.fft.rfft(law, size + size % 2) ** n, size + size % 2)
    set_law = set_law_of(estimator_for(mechanism), np.array(members))
    left = 0.0
    for count in np.flatnonzero(chances > 1e-13).tolist():
        actual = estimate_set(set_law, int(count), n, confidence=1 - 2 * tail)
        left += float(chances[count]) * (not actual.lower <= share <= actual.upper)
    return left


@pytest.mark.parametrize("id", ["cyclic/1", "hadamard/1", "oue/1", "subset/1"])
@pytest.mark.parametrize("n", grid([5, 60], by_default=[5]))
@pytest.mark.parametrize("share", grid(["0", "1/20", "1/2", "1"], by_default=["1/20", "1"]))
def test_intervals_of_few_reports_cover_more_often_than_they_say(
    id: str, n: int, share: str
) -> None:
    assert missed(id, n, Fraction(share), 0.025, (0, 1, 4)) <= 0.05
    assert missed(id, n, Fraction(share), 0.0005, (0, 1, 4)) <= 0.001


@pytest.mark.slow
@pytest.mark.parametrize("tail", [0.025, 1e-5])
@pytest.mark.parametrize("share", grid(["0", "1/20", "1/2"], by_default=["1/20"]))
def test_intervals_of_many_reports_cover_as_often_as_they_say(share: str, tail: float) -> None:
    """n = 4,000 `oue/1` reports, by the exact law of the count; three labels of six."""
    left = missed("oue/1", 4000, Fraction(share), tail, (0, 1, 4))
    assert left <= 2 * tail * 1.005
    assert left >= (2 if share != "0" else 1) * tail * 0.6


def test_all_sets_together_have_wider_intervals_than_each_by_itself() -> None:
    law = set_law_of(estimator_for(built("oue/1")), np.array([0, 1]))
    each = estimate_set(law, 30_000, 40_000, sets=9)
    every = estimate_set(law, 30_000, 40_000, sets=9, family="all")
    assert every.lower < each.lower < each.upper < every.upper


def test_without_reports_nothing_is_known() -> None:
    actual = estimate_set(set_law_of(estimator_for(built("oue/1")), np.array([0, 1])), 0, 0)
    assert math.isnan(actual.frequency)
    assert (actual.lower, actual.upper) == (0, 1)


@pytest.mark.parametrize("members", [(), (0, 0), tuple(range(SIZE)), (SIZE,), (-1,)])
def test_sets_that_are_no_question_are_refused(members: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="set must hold"):
        checked_set(built("subset/1"), members)


@pytest.mark.parametrize("id", ["rr/1", "rr-sampled/1"])
def test_unions_of_bits_are_refused(id: str) -> None:
    with pytest.raises(ParameterError, match="exclude each other"):
        checked_set(mechanisms.build(id, domain_size=3, epsilon="1"), (0, 1))


def test_a_law_that_no_count_has_is_refused() -> None:
    half = Fraction(1, 2)
    with pytest.raises(ParameterError, match="second moments"):
        SetLaw(2, half, half / 2, half, half, 1)
    with pytest.raises(ParameterError, match="size must be"):
        SetLaw(0, half, half / 2, half, half, 1)


@pytest.mark.parametrize("id", ["oue/1", "sue/1"])
@pytest.mark.parametrize("n", [3, 40])
def test_the_tail_of_a_known_sum_is_never_below_the_true_one(id: str, n: int) -> None:
    """All labels of a unary encoding: a coin of p and d − 1 of q, convolved exactly."""
    mechanism = built(id, 4)
    law = set_law_of(estimator_for(mechanism), np.arange(4))
    p, q = float(mechanism.p), float(mechanism.q)
    once = np.array([1 - p, p])
    for _ in range(3):
        once = np.convolve(once, [1 - q, q])
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, once)
    far = np.abs(np.arange(len(total)) - n * float(law.mean(1)))
    for count in range(len(total)):
        truly = total[far >= far[count] - 1e-9].sum()
        assert tail_of_known(law, count, n, 1) >= truly * (1 - 1e-9)


def test_sets_of_estimators_of_every_repeat_use_its_clusters() -> None:
    """Ten epochs of the same devices widen the interval, of reports once each they do not."""
    mechanism, tally = built("oue/1"), np.array([33_800, 31_500, 30_000, 30_000, 29_000, 29_000])
    widths = {}
    for repeat in ("once", "fresh"):
        estimator = estimator_for(mechanism, repeat)
        actual = estimate_label_set(estimator, mechanism, tally, 100_000, (0, 1), epochs=10)
        widths[repeat] = actual.upper - actual.lower
    assert widths["fresh"] > 1.1 * widths["once"]
