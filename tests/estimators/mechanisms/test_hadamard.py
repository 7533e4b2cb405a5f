"""Hadamard response as counted: histograms of payloads, decoded exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.debias import debias
from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.inference.walsh import walsh
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.hadamard import HadamardResponse


def built(choices: int, epsilon: str = "1") -> tuple[HadamardResponse, Estimator]:
    mechanism = mechanisms.build("hadamard/1", domain_size=choices, epsilon=epsilon)
    assert isinstance(mechanism, HadamardResponse)
    return mechanism, estimator_for(mechanism)


def rows_of(codes: list[int], size: int) -> np.ndarray:
    rows = b"".join(code.to_bytes(size, "big") for code in codes)
    return np.frombuffer(rows, dtype=np.uint8).reshape(len(codes), size)


@settings(deadline=None)
@given(st.sampled_from([2, 3, 128, 129, 32_768, 32_769, 65_536]), st.data())
def test_the_tally_is_the_histogram_and_supports_are_those_of_each_payload(
    choices: int, data: st.DataObject
) -> None:
    mechanism, estimator = built(choices)
    codes = data.draw(st.lists(st.integers(0, mechanism.tally_size - 1), max_size=20))
    tally = estimator.tally(rows_of(codes, mechanism.payload_size))
    assert {code: int(tally[code]) for code in codes} == {c: codes.count(c) for c in codes}
    assert tally.dtype == np.int64
    assert int(tally.sum()) == len(codes)
    supports, payloads = estimator.supports(tally), [payload(mechanism, code) for code in codes]
    for label in {0, 1, choices // 2, choices - 1}:
        assert supports[label] == sum(mechanism.supports(each, label) for each in payloads)


def payload(mechanism: Mechanism, code: int) -> bytes:
    return code.to_bytes(mechanism.payload_size, "big")


@settings(deadline=None)
@given(st.integers(0, 6), st.data())
def test_the_fast_transform_is_the_product_with_the_matrix(power: int, data: st.DataObject) -> None:
    size = 1 << power
    drawn = st.lists(st.integers(-(2**40), 2**40), min_size=size, max_size=size)
    values = np.array([data.draw(drawn), data.draw(drawn)], dtype=np.int64)
    signs = [[1 - 2 * ((j & v).bit_count() % 2) for v in range(size)] for j in range(size)]
    assert walsh(values).tolist() == (values @ np.array(signs)).tolist()


def test_supports_are_exact_for_more_reports_than_a_float_can_count() -> None:
    _, estimator = built(4)
    tally = np.array([2**60 + 1, 0, 3, 2**59 + 2, 0, 0])
    expected = [2**60 + 4, 3, 2**60 + 2**59 + 3, 2**59 + 2]
    assert estimator.supports(tally).tolist() == expected


def test_supports_of_many_tallies_are_those_of_each() -> None:
    _, estimator = built(5)
    tallies = np.arange(2 * 3 * 14).reshape(2, 3, 14)
    together = estimator.supports(tallies)
    assert together.shape == (2, 3, 5)
    assert together[1, 2].tolist() == estimator.supports(tallies[1, 2]).tolist()


def test_batches_longer_than_a_slice_are_counted_whole_and_parts_add_up() -> None:
    _, estimator = built(65_536)
    rows = np.tile(rows_of([0, 131_069, 258], 3), (100_000, 1))
    tally = estimator.tally(rows)
    assert tally[[0, 258, 131_069]].tolist() == [100_000] * 3
    assert (estimator.tally(rows[:7]) + estimator.tally(rows[7:])).tolist() == tally.tolist()
    assert estimator.tally(rows[::2]).tolist() == estimator.tally(rows[::2].copy()).tolist()
    assert estimator.tally(rows[:0]).sum() == 0


def test_a_coefficient_nobody_is_asked_is_refused() -> None:
    with pytest.raises(DecodeError, match="indices below 14, got 14"):
        built(5)[1].tally(np.array([[13], [14]], dtype=np.uint8))
    with pytest.raises(DecodeError, match="indices below 131070, got 131070"):
        built(65_536)[1].tally(rows_of([131_070], 3))


@pytest.mark.parametrize("tally", [[1, 1, 0, 0, 0, 0], [4, -1, 0, 0, 0, 0], [3, 0], [3] * 6])
def test_a_tally_that_three_reports_cannot_give_is_refused(tally: list[int]) -> None:
    with pytest.raises(ParameterError, match="tally must"):
        built(3)[1].estimate(np.array(tally), 3)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=6, max_size=6).filter(any))
def test_frequencies_of_all_codes_add_up_to_one(
    tally: list[int],
) -> None:
    whole, used = (
        built(size)[1].estimate(np.array(tally), sum(tally)).frequencies for size in (4, 3)
    )
    assert whole.sum() == pytest.approx(1, abs=1e-12)
    assert used.tolist() == whole[:3].tolist()


def test_an_estimate_is_that_of_the_counts_of_supports() -> None:
    mechanism, estimator = built(3)
    tally = np.array([30, 10, 25, 20, 5, 10])
    estimate = estimator.estimate(tally, 100)
    counts = np.array([60, 10 + 25 + 10, 30 + 20 + 10])
    same = debias(Channel(mechanism.p, mechanism.q), counts, 100)
    for name in ("frequencies", "std_errors", "lower", "upper", "reports_to_leave"):
        assert getattr(estimate, name).tolist() == getattr(same, name).tolist()


def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero() -> None:
    mechanism, estimator = built(16, "2")
    n = 15 * 10**12
    law = mechanism.pmf(11)
    tally = np.array([round(n * chance) for chance in law.values()])
    tally[0] += n - tally.sum()
    frequencies = estimator.estimate(tally, n).frequencies
    assert frequencies.tolist() == pytest.approx([float(v == 11) for v in range(16)], abs=1e-11)


@pytest.mark.parametrize("frequency", [Fraction(0), Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("epsilon", ["0.25", "1", "4"])
def test_the_variance_is_that_of_the_closed_form(epsilon: str, frequency: Fraction) -> None:
    """Given who answered, ((K − 1)/K)²·coth²(ε/2) − f·((K − 1)/K)² − (1 − f)/K², for K = 8."""
    mechanism, k = built(8, epsilon)[0], 8
    p, q, f = mechanism.p, mechanism.q, frequency
    given_people = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
    coth = 1 / math.tanh(float(epsilon) / 2)
    scores = float(f) * (1 - 1 / k) ** 2 + float(1 - f) / k**2
    assert float(given_people) == pytest.approx(((k - 1) / k * coth) ** 2 - scores, rel=1e-12)


def test_choices_are_presented_on_the_simplex() -> None:
    assert built(3)[1].default_projection == "simplex"
