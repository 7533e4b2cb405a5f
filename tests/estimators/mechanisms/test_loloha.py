"""Local hashing as counted: the histogram of functions and cells, decoded in integers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from deniable_estimators.inference.anomalies import find_anomalies
from deniable_estimators.inference.linear_hash_sums import (
    cells_of_values,
    hashed,
    supports_of_codes,
)
from deniable_estimators.inference.message_laws import maximum_likelihood
from deniable_estimators.inference.set_laws import set_law_of
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.analysis.optimal_error import total_error
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.loloha import LocalHashing
from deniable_shared.randomness.coins import Coins
from support.tiers import grid, rows

FAMILIES = [(2, 2), (2, 6), (3, 3), (4, 3), (5, 2), (7, 2), (8, 2), (9, 2), (16, 2), (4, 5)]
EACH_FAMILY = rows(FAMILIES, by_default=FAMILIES[:-1])
"""The last has a third of a million pairs."""


def whole(g: int, t: int) -> LocalHashing:
    mechanism = build(
        "loloha/1", domain_size=g**t, epsilon="1", permanent=None, field_order=g, dimension=t
    )
    assert isinstance(mechanism, LocalHashing)
    return mechanism


@cache
def cells(mechanism: LocalHashing) -> np.ndarray:
    """(M, K): the cell of every code under every function, as the device computes it."""
    return np.array(
        [
            [mechanism.hashed(function, code) for code in range(mechanism.codes)]
            for function in range(mechanism.public_outcomes)
        ]
    )


@pytest.mark.parametrize("most", grid([1, 10**11, 2**40], by_default=[10**11]))
@pytest.mark.parametrize(("g", "t"), EACH_FAMILY)
def test_supports_are_exact_whatever_the_counts(g: int, t: int, most: int) -> None:
    mechanism, coins = whole(g, t), Coins.system()
    counts = np.array([coins.below(most + 1) for _ in range(mechanism.tally_size)])
    supports = estimator_for(mechanism).supports(counts)
    of_cells = counts.reshape(-1, g)
    rows = np.arange(mechanism.public_outcomes)[:, None]
    assert supports.tolist() == of_cells[rows, cells(mechanism)].sum(axis=0).tolist()


@pytest.mark.parametrize(("g", "t"), EACH_FAMILY)
def test_values_fall_into_the_cells_that_devices_tell(g: int, t: int) -> None:
    mechanism, expected = whole(g, t), np.zeros((whole(g, t).public_outcomes, g), dtype=np.int64)
    values = np.arange(mechanism.codes) ** 2 % 31
    for row, of_function in zip(expected, cells(mechanism), strict=True):
        np.add.at(row, of_function, values)
    assert cells_of_values(values, g, t).tolist() == expected.reshape(-1).tolist()


@pytest.mark.parametrize(("g", "t"), EACH_FAMILY)
def test_many_pairs_are_hashed_as_one(g: int, t: int) -> None:
    mechanism = whole(g, t)
    functions, codes = np.indices((mechanism.public_outcomes, mechanism.codes))
    actual = hashed(functions.reshape(-1), codes.reshape(-1), g, t)
    assert actual.tolist() == cells(mechanism).reshape(-1).tolist()


def test_the_two_sums_are_each_other_s_transpose_in_floats_too() -> None:
    g, t = 9, 2
    mechanism, draws = whole(g, t), np.linspace(0.1, 1.7, whole(g, t).tally_size)
    values = np.cos(np.arange(mechanism.codes))
    one = float(supports_of_codes(draws, g, t) @ values)
    assert one == pytest.approx(float(draws @ cells_of_values(values, g, t)), rel=1e-12)


def test_a_quarter_of_a_million_choices_are_counted_as_each_payload_says() -> None:
    mechanism, coins = build("loloha/1", domain_size=250_000, epsilon="1"), Coins.system()
    values = [0, 1, 249_999, *(coins.below(250_000) for _ in range(50))]
    sent = [mechanism.randomize(value, coins) for value in values]
    rows = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(len(sent), -1)
    of = estimator_for(mechanism)
    supports = of.supports(of.tally(rows))
    for label in {*values, 1000, 125_000}:
        assert supports[label] == sum(bool(mechanism.supports(each, label)) for each in sent)


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero(repeat: str) -> None:
    permanent = "4" if repeat == "memoized" else None
    shape = {"field_order": 8, "dimension": 3}
    mechanism = build("loloha/1", domain_size=100, epsilon="2", permanent=permanent, **shape)
    plain = build("loloha/1", domain_size=100, epsilon="2", permanent=None, **shape)
    assert isinstance(plain, LocalHashing)
    of, n, m = estimator_for(mechanism, repeat), 10**15, plain.public_outcomes
    counts = [
        round(n * (mechanism.p if cell == plain.hashed(a, 7) else (1 - mechanism.p) / 7) / m)
        for a in range(m)
        for cell in range(8)
    ]
    counts[0] += n - sum(counts)
    estimate = of.estimate(np.array(counts), n, epochs=3)
    expected = [float(label == 7) for label in range(100)]
    assert estimate.frequencies.tolist() == pytest.approx(expected, abs=1e-11)


def test_the_moments_of_a_set_are_those_of_all_messages() -> None:
    for permanent in (None, "2"):
        mechanism = build(
            *("loloha/1",), domain_size=7, epsilon="1", permanent=permanent, field_order=3,
            dimension=2,
        )  # fmt: skip
        members = np.array([0, 2, 5])
        law = set_law_of(estimator_for(mechanism), members)
        squares = [
            sum(
                chance * sum(bool(mechanism.supports(sent, int(v))) for v in members) ** 2
                for sent, chance in mechanism.pmf(value).items()
            )
            for value in range(7)
        ]
        assert law.inside == max(squares[v] for v in (0, 2, 5))
        assert law.outside == max(squares[v] for v in (1, 3, 4, 6))


def test_codes_that_stand_for_nothing_show_reports_made_up() -> None:
    mechanism = build("loloha/1", domain_size=40, epsilon="1", field_order=4, dimension=3)
    of = estimator_for(mechanism)
    draws = generator(seed=1)  # others raise something once in 10^6
    honest = simulated_tally(mechanism, np.arange(40), np.full(40, 500), draws=draws)
    assert find_anomalies(of, mechanism, honest, 20_000) == ()
    made_up = honest.copy()
    form = whole(4, 3)
    for function in range(form.public_outcomes):
        made_up[4 * function + form.hashed(function, 63)] += 200
    actual = find_anomalies(of, mechanism, made_up, int(made_up.sum()))
    assert {each.kind for each in actual} >= {"unused-code"}
    assert next(each.code for each in actual if each.kind == "unused-code") == 63


@pytest.mark.slow
def test_most_likely_frequencies_are_near_raw_ones_for_many_reports() -> None:
    mechanism = build("loloha/1", domain_size=16, epsilon="2")
    people = np.arange(16) * 10_000 + 10_000
    tally = simulated_tally(mechanism, np.arange(16), people)
    raw = estimator_for(mechanism).estimate(tally, int(people.sum()))
    fitted = maximum_likelihood(estimator_for(mechanism), tally).distribution
    assert np.abs(fitted - raw.frequencies).max() < 6 * raw.std_errors.max()


def test_what_no_reports_can_be_is_refused() -> None:
    mechanism = whole(4, 2)
    of = estimator_for(mechanism)
    with pytest.raises(DecodeError, match="indices below 20, got 20"):
        of.tally(np.array([[19], [20]], dtype=np.uint8))
    for tally in (np.zeros(20, np.int64), np.ones(19, np.int64), np.full(20, -1)):
        with pytest.raises(ParameterError, match="tally must"):
            of.estimate(tally, 1)
    with pytest.raises(ParameterError, match="mechanism must be loloha/1, got grr/1"):
        type(of)(build("grr/1", domain_size=20, epsilon="1"), "once").supports(tally)  # type: ignore[call-arg]  # a wrong type is the point


@pytest.mark.statistical
def test_the_measured_total_error_is_that_of_the_formula() -> None:
    """30,000 reports of uneven values in 300 batches of 100, each a sample of Σ(f̂ − f)².

    Each sum has a relative deviation of at most √(2/20): over 20 labels count. The bound is 6
    deviations of the mean, 11%; false alarm under 1e-8.
    """
    mechanism, n, coins = build("loloha/1", domain_size=100, epsilon="1"), 100, Coins.system()
    of = estimator_for(mechanism)
    values = [(7 * place * place) % 100 for place in range(n)]
    true = np.bincount(values, minlength=100) / n
    sent = b"".join(mechanism.randomize(value, coins) for _ in range(300) for value in values)
    batches = np.frombuffer(sent, dtype=np.uint8).reshape(300, n, -1)
    off = [
        float(((of.estimate(of.tally(rows), n).frequencies - true) ** 2).sum()) for rows in batches
    ]
    expected = float(total_error(mechanism.p, mechanism.q, 100)) / n
    assert np.mean(off) == pytest.approx(expected, rel=0.11)
