from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError


def estimator(choices: int, epsilon: str = "1") -> Estimator:
    return estimator_for(mechanisms.build("grr/1", domain_size=choices, epsilon=epsilon))


def payloads_of(indices: list[int], size: int) -> np.ndarray:
    rows = b"".join(index.to_bytes(size, "big") for index in indices)
    return np.frombuffer(rows, dtype=np.uint8).reshape(len(indices), size)


@settings(deadline=None)
@given(st.sampled_from([(2, 1), (10, 1), (256, 1), (257, 2), (65_536, 2)]), st.data())
def test_the_tally_is_the_histogram_of_big_endian_indices(
    domain: tuple[int, int], data: st.DataObject
) -> None:
    choices, size = domain
    indices = data.draw(st.lists(st.integers(0, choices - 1), max_size=30))
    tally = estimator(choices).tally(payloads_of(indices, size))
    assert tally.dtype == np.int64
    assert {index: int(tally[index]) for index in indices} == {i: indices.count(i) for i in indices}
    assert int(tally.sum()) == len(indices)


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 40))
def test_tallies_of_parts_add_up_to_the_tally_of_the_whole(indices: list[int], cut: int) -> None:
    built = estimator(7)
    head, tail = (built.tally(payloads_of(part, 1)) for part in (indices[:cut], indices[cut:]))
    assert (head + tail).tolist() == built.tally(payloads_of(indices, 1)).tolist()


def test_batches_longer_than_a_slice_are_counted_whole() -> None:
    rows = np.tile(np.arange(10, dtype=np.uint8), 20_000)[:, None]
    assert estimator(10).tally(rows).tolist() == [20_000] * 10


def test_rows_that_are_not_contiguous_are_counted_the_same() -> None:
    rows = np.arange(60, dtype=np.uint8).reshape(10, 6)[::2, ::3]
    built = estimator(65_536)
    assert built.tally(rows).tolist() == built.tally(rows.copy()).tolist()


def test_no_payloads_give_a_tally_of_zeros() -> None:
    assert estimator(3).tally(np.empty((0, 1), dtype=np.uint8)).tolist() == [0, 0, 0]


def test_an_index_outside_the_domain_is_refused() -> None:
    with pytest.raises(DecodeError, match="indices below 10, got 10"):
        estimator(10).tally(np.array([[9], [10]], dtype=np.uint8))


@pytest.mark.parametrize(
    "payloads",
    [np.zeros((4, 1), dtype=np.uint8), np.zeros(4, dtype=np.uint8), np.zeros((4, 2), dtype=">u2")],
)
def test_payloads_of_another_shape_or_type_are_refused(payloads: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="payloads must"):
        estimator(300).tally(payloads)


@pytest.mark.parametrize("tally", [[1, 1, 0], [2, 2, 0], [4, -1, 0], [4, 0, 0], [3, 0]])
def test_a_tally_that_three_reports_cannot_give_is_refused(tally: list[int]) -> None:
    with pytest.raises(ParameterError, match="tally must"):
        estimator(3).estimate(np.array(tally), 3)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).filter(any))
def test_raw_frequencies_of_a_choice_add_up_to_one(tally: list[int]) -> None:
    estimate = estimator(3).estimate(np.array(tally), sum(tally))
    assert estimate.frequencies.sum() == pytest.approx(1, abs=1e-12)


def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero() -> None:
    mechanism = mechanisms.build("grr/1", domain_size=5, epsilon="2")
    n = 10**15
    others = round(n * mechanism.q)
    tally = np.array([n - 4 * others, *[others] * 4])
    frequencies = estimator_for(mechanism).estimate(tally, n).frequencies
    assert frequencies.tolist() == pytest.approx([1, 0, 0, 0, 0], abs=1e-13)


def test_choices_are_presented_on_the_simplex() -> None:
    assert estimator(3).default_projection == "simplex"
