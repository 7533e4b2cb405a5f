"""Trees and Haar as counted: mean and variance by enumeration, covered, made presentable."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.inference.projection import onto_simplex, top_down
from deniable_estimators.inference.quantities import mean, quantiles, ranges
from deniable_estimators.mechanisms.tree import TreeEstimator, coefficients
from deniable_estimators.simulation import simulated_tally
from deniable_shared.analysis.range_error import node_error, tree_error
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.haar import HaarResponse
from deniable_shared.mechanisms.tree import TreeResponse
from deniable_shared.randomness.coins import Coins
from support.oracles.level_laws import (
    SMALL,
    a_long_time,
    every_level_once,
    expected_tally,
    hierarchy,
)
from support.oracles.message_laws import generator
from support.oracles.number_laws import SHAPES, scale
from support.tiers import rows

CHAINS = [None, "2"]


def uneven(size: int) -> Floats:
    return np.asarray(np.arange(1.0, size + 1) / (size * (size + 1) / 2))


def all_ranges(size: int) -> Floats:
    """Every range but that of all values, and the mean."""
    places = np.arange(size)
    rows = [
        (low <= places) & (places <= high)
        for low in range(size)
        for high in range(low, size)
        if high - low < size - 1
    ]
    return np.array([*rows, places / (size - 1)], dtype=float)


@pytest.mark.parametrize(
    ("id", "size", "parameters", "permanent"),
    rows(
        [(*each, permanent) for permanent in CHAINS for each in SMALL],
        by_default=lambda row: row[3] is None or row[:2] in {("tree/1", 5), ("haar/1", 5)},
    ),
    ids=str,
)
def test_over_all_reports_ranges_have_the_stated_moments(
    id: str, size: int, parameters: dict[str, int], permanent: str | None
) -> None:
    """One report a level, all of them enumerated; the estimate from a million times as many."""
    of, shares = hierarchy(id, size, "1", permanent, **parameters), uneven(size)
    weights, each = all_ranges(size), 10**12
    first, second = np.zeros(len(weights)), np.zeros(len(weights))
    for chance, tally, n in every_level_once(of, shares):
        values = of.functionals(weights, tally, n).values
        first, second = first + chance * values, second + chance * values**2
    assert first == pytest.approx(weights @ shares, abs=1e-9)
    result = of.functionals(weights, *expected_tally(of, shares, each))
    assert result.values == pytest.approx(weights @ shares, abs=1e-9)
    assert result.std_errors**2 * each == pytest.approx(second - first**2, rel=1e-6)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "6"])
@pytest.mark.parametrize(
    ("id", "size", "fan_out"),
    [("tree/1", 16, 4), ("tree/1", 8, 2), ("tree/1", 9, 9), ("haar/1", 16, 2)],
)
def test_the_mean_variance_of_ranges_is_the_formula_of_the_fan_out(
    id: str, size: int, fan_out: int, epsilon: str
) -> None:
    """Uniform answers over a whole tree, as many reports of each level."""
    tree = id == "tree/1"
    of = hierarchy(id, size, epsilon, **({"fan_out": fan_out} if tree else {}))
    tally = _expected_of_uniform(of, 10**12)
    rows, n = all_ranges(size)[:-1], 10**12 * int(1 / of.mechanism.sampling_fraction)
    errors = of.functionals(rows, tally, n).std_errors
    actual = n * float((errors**2).sum()) / (size * (size + 1) / 2)
    report = Fraction(epsilon)
    expected = tree_error(size, fan_out, report) if tree else HaarResponse(size, report).range_error
    assert actual == pytest.approx(expected, rel=1e-6)


def _expected_of_uniform(of: HierarchyEstimator, each: int) -> Counts:
    """By p and q of each level, where sets are too many to list."""
    form = of.mechanism
    if not isinstance(form, TreeResponse):
        return expected_tally(of, np.full(form.domain_size, 1 / form.domain_size), each)[0]
    parts = [np.full(len(form.choices), each)]
    for place, choice in enumerate(form.choices):
        under = np.bincount([form.code(v, place) for v in range(form.leaves)])
        p, q = float(choice.p), float(choice.q)
        counts = np.rint(each * (q + (p - q) * under / form.leaves)).astype(np.int64)
        counts[0] += choice.subset_size * each - counts.sum()
        parts.append(counts)
    return np.concatenate(parts)


def test_the_two_passes_are_generalized_least_squares() -> None:
    """Against the normal equations with the full covariance of each level, the root known."""
    fan_out, result = 3, np.array([40.0, 70.0, 90.0])
    sizes, leaves = (2, 4, 11), 11
    errors = [node_error(size, Fraction(1)) for size in sizes]
    sums = [
        np.array([[float(v // fan_out**up == node) for v in range(leaves)] for node in range(size)])
        for up, size in zip((2, 1, 0), sizes, strict=True)
    ]
    precision = [n / e for n, e in zip(result, errors, strict=True)]
    normal = sum(w * s.T @ s for w, s in zip(precision, sums, strict=True))
    bordered = np.block([[normal, np.ones((leaves, 1))], [np.ones((1, leaves)), np.zeros((1, 1))]])
    inverse = np.linalg.inv(bordered)
    constant, nodes = coefficients(np.eye(leaves), fan_out, list(precision))
    for weight, total, actual in zip(precision, sums, nodes, strict=True):
        expected = inverse[:leaves, :leaves] @ (weight * total.T)
        expected -= expected.mean(axis=1, keepdims=True)  # a level adds up to 1 by itself
        assert actual - actual.mean(axis=1, keepdims=True) == pytest.approx(expected, abs=1e-12)
    offsets = constant + sum(g.mean(axis=1) for g in nodes)
    direct = inverse[:leaves, leaves] + sum(
        (inverse[:leaves, :leaves] @ (w * s.T)).mean(axis=1)
        for w, s in zip(precision, sums, strict=True)
    )
    assert offsets == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [0.1, 3.0, 20.0]])
def test_coefficients_on_the_way_to_a_leaf_add_up_to_its_weight(
    weights: list[float],
) -> None:
    rows = generator().random((4, 17))
    constant, nodes = coefficients(rows, 3, weights)
    leaf = np.arange(17)
    ways = constant[:, None] + sum(
        g[:, leaf // 3**up] for g, up in zip(nodes, (2, 1, 0), strict=True)
    )
    assert ways == pytest.approx(rows, abs=1e-12)


@pytest.mark.parametrize(("id", "size", "parameters"), SMALL, ids=str)
def test_values_ranges_and_distribution_function_agree_and_sum_to_one(
    id: str, size: int, parameters: dict[str, int]
) -> None:
    of, n = hierarchy(id, size, "1", **parameters), 5_000
    tally = simulated_tally(of.mechanism, np.arange(size), generator().multinomial(n, uneven(size)))
    values, band = of.estimate(tally, n).frequencies, of.cumulative(tally, n)
    assert values.sum() == pytest.approx(1)
    assert band.band.values == pytest.approx(np.cumsum(values)[:-1])
    rows = all_ranges(size)
    assert of.functionals(rows, tally, n).values == pytest.approx(rows @ values)
    shown = of.top_down(tally, n)
    assert (np.diff(band.fitted) >= 0).all()
    assert (shown >= 0).all()
    assert np.cumsum(shown)[:-1] == pytest.approx(band.fitted)


def test_a_tally_adds_up_over_any_split_and_refuses_what_no_sender_gives() -> None:
    for id in ("tree/1", "haar/1"):
        of = hierarchy(id, 20, "1")
        rows = [of.mechanism.randomize(k % 20, Coins.derive(b"k", bytes([k]))) for k in range(200)]
        payloads = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(200, -1)
        assert (of.tally(payloads) == of.tally(payloads[:70]) + of.tally(payloads[70:])).all()
        with pytest.raises(DecodeError):
            of.tally(np.full((1, payloads.shape[1]), 255, dtype=np.uint8))


@pytest.mark.statistical
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("id", "epsilon", "n"),
    rows(
        [
            ("tree/1", "1", 400),
            ("tree/1", "2", 30_000),
            ("haar/1", "0.5", 400),
            ("haar/1", "0.5", 30_000),
        ],
        by_default=lambda row: row[2] == 400,
        long=lambda row: row[2] == 30_000,
    ),
)
def test_mean_ranges_and_quantiles_are_covered_as_often_as_stated(
    shape: str, id: str, epsilon: str, n: int
) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8."""
    of, domain = hierarchy(id, 48, epsilon), scale(48)
    truth = SHAPES[shape](48)
    at = [float(domain.value(int(np.searchsorted(np.cumsum(truth), t)))) for t in (0.1, 0.5, 0.9)]
    wanted = [float(truth @ np.arange(48)), float(truth[10:21].sum()), float(truth[30]), *at]
    missed = np.zeros(len(wanted))
    for _ in range(300):
        tally = simulated_tally(of.mechanism, np.arange(48), generator().multinomial(n, truth))
        actual = [
            mean(of, domain, tally, n),
            *ranges(of, domain, tally, n, [(10, 20), (30, 30)]),
            *quantiles(of, domain, tally, n, levels=(0.1, 0.5, 0.9)),
        ]
        for place, (quantity, value) in enumerate(zip(actual, wanted, strict=True)):
            assert quantity is not None
            missed[place] += not quantity.lower - 1e-9 <= value <= quantity.upper + 1e-9
    assert (missed <= 39).all()


@pytest.mark.statistical
@pytest.mark.parametrize("id", ["tree/1", "haar/1"])
def test_quantiles_of_a_family_hold_together(id: str) -> None:
    """300 runs of five levels at 95% together: more than 39 misses have chance below 5e-8."""
    of, domain, n = hierarchy(id, 48, "1"), scale(48), 20_000
    truth, levels = SHAPES["bimodal"](48), (0.1, 0.25, 0.5, 0.75, 0.9)
    at = [float(domain.value(int(np.searchsorted(np.cumsum(truth), t)))) for t in levels]
    missed = 0
    for _ in range(300):
        tally = simulated_tally(of.mechanism, np.arange(48), generator().multinomial(n, truth))
        actual = quantiles(of, domain, tally, n, levels=levels, confidence=0.99)
        missed += not all(q.lower <= v <= q.upper for q, v in zip(actual, at, strict=True))
    assert missed <= 39


@pytest.mark.statistical
@pytest.mark.parametrize("permanent", [None, "4"], ids=["fresh", "memoized"])
@pytest.mark.parametrize(("id", "parameters"), [("tree/1", {"fan_out": 3}), ("haar/1", {})])
def test_thirty_epochs_of_devices_that_never_change_are_covered_too(
    id: str, parameters: dict[str, int], permanent: str | None
) -> None:
    """300 runs at 95%: a right one misses more than 39 times with chance below 5e-8."""
    epochs, devices, size = 30, 2000, 9
    plain = hierarchy(id, size, "2", permanent, **parameters)
    of = type(plain)(plain.mechanism, "fresh" if permanent is None else "memoized")
    truth, domain = SHAPES["bimodal"](size), scale(size)
    missed = np.zeros(2)
    for _ in range(300):
        tally = a_long_time(of, truth, epochs=epochs, devices=devices)
        n = epochs * devices
        middle = mean(of, domain, tally, n, epochs=epochs)
        (share,) = ranges(cast(LinearEstimator, of), domain, tally, n, [(0, 3)], epochs=epochs)
        assert middle is not None
        missed[0] += not middle.lower <= truth @ np.arange(size) <= middle.upper
        missed[1] += not share.lower <= truth[:4].sum() <= share.upper
    assert (missed <= 39).all()


@pytest.mark.slow
@pytest.mark.parametrize(("id", "size"), [("tree/1", 9), ("haar/1", 9)])
def test_a_made_up_report_moves_a_value_by_no_more_than_the_influence(id: str, size: int) -> None:
    of, n = hierarchy(id, size, "1"), 3_000
    people = generator().multinomial(n, uneven(size))
    tally = simulated_tally(of.mechanism, np.arange(size), people)
    before = of.estimate(tally, n)
    moved = 0.0
    for value in range(size):
        for payload in list(of.mechanism.pmf(value))[::7]:
            one = of.tally(np.frombuffer(payload, np.uint8)[None, :])
            after = of.estimate(tally + one, n + 1).frequencies
            moved = max(moved, float(np.abs(after - before.frequencies).max()))
    assert 0 < moved <= before.influence * 1.05  # weights follow the reports of each level


def test_a_level_that_nobody_told_of_leaves_nothing_known() -> None:
    for id in ("tree/1", "haar/1"):
        of, domain = hierarchy(id, 20, "1"), scale(20)
        payload = of.mechanism.randomize(3, Coins.derive(b"k"))
        tally = of.tally(np.frombuffer(payload, np.uint8)[None, :])
        for counts, n in ((tally, 1), (0 * tally, 0)):
            actual = of.estimate(counts, n)
            assert np.isnan(actual.frequencies).all()
            assert (actual.lower == 0).all()
            assert (actual.upper == 1).all()
            for quantity in (mean(of, domain, counts, n), *quantiles(of, domain, counts, n)):
                assert quantity is not None
                assert math.isnan(quantity.value)
                assert (quantity.lower, quantity.upper) == (0, 19)


def test_a_tally_that_cannot_be_is_refused() -> None:
    tree, haar = hierarchy("tree/1", 20, "1"), hierarchy("haar/1", 20, "1")
    ones = [np.ones(of.mechanism.tally_size, dtype=np.int64) for of in (tree, haar)]
    with pytest.raises(ParameterError, match="one level in each of n = 9"):
        tree.estimate(ones[0], 9)
    with pytest.raises(ParameterError, match="codes for each of 1 reports"):
        tree.estimate(ones[0], len(cast(TreeResponse, tree.mechanism).choices))
    with pytest.raises(ParameterError, match="must add up to n = 9"):
        haar.estimate(ones[1], 9)
    with pytest.raises(ParameterError, match="must be tree/1"):
        TreeEstimator(haar.mechanism).tally(np.zeros((1, 1), dtype=np.uint8))


def test_top_down_is_the_nearest_share_of_each_parent() -> None:
    for _ in range(50):
        leaves = generator().normal(1 / 7, 0.3, 7)
        leaves += (1 - leaves.sum()) / 7
        assert top_down(leaves, 7) == pytest.approx(onto_simplex(leaves))
        shown = top_down(leaves, 3)
        parents = onto_simplex(np.add.reduceat(leaves, [0, 3, 6]))
        assert np.add.reduceat(shown, [0, 3, 6]) == pytest.approx(parents)
        assert (shown >= 0).all()
        if parents[0] > 0:
            assert shown[:3] == pytest.approx(parents[0] * onto_simplex(leaves[:3] / parents[0]))


def test_a_distribution_that_is_one_stays_as_it_is() -> None:
    shares = uneven(11)
    for fan_out in (2, 3, 11):
        assert top_down(shares, fan_out) == pytest.approx(shares)
