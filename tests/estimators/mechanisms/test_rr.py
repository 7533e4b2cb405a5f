from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.randomness.coins import Coins


def estimator(bits: int, epsilon: str = "1") -> Estimator:
    return estimator_for(mechanisms.build("rr/1", domain_size=bits, epsilon=epsilon))


def random_rows(count: int, size: int) -> np.ndarray:
    return np.frombuffer(Coins.system().bytes(count * size), dtype=np.uint8).reshape(count, size)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 8, 125])
def test_every_kernel_counts_the_ones_of_each_bit(size: int) -> None:
    counted = estimator(8 * size)
    for count in (0, 1, 255, 256, 2047, 2048, 2049, 2063, 7001):
        rows = random_rows(count, size)
        expected = np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.int64)
        tally = counted.tally(rows)
        assert tally.dtype == np.int64
        assert tally.tolist() == expected.tolist(), count


@pytest.mark.parametrize("size", [1, 9])
def test_counts_do_not_overflow_in_a_large_batch(size: int) -> None:
    rows = np.full((200_000, size), 255, dtype=np.uint8)
    assert estimator(8 * size).tally(rows).tolist() == [200_000] * (8 * size)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.integers(1, 20).flatmap(
        lambda size: st.tuples(
            arrays(np.uint8, st.tuples(st.integers(0, 40), st.just(size))),
            arrays(np.uint8, st.tuples(st.integers(0, 40), st.just(size))),
        )
    )
)
def test_tallies_of_parts_add_up_to_the_tally_of_the_whole(
    parts: tuple[np.ndarray, np.ndarray],
) -> None:
    built = estimator(8 * parts[0].shape[1])
    together = built.tally(np.concatenate(parts))
    assert (built.tally(parts[0]) + built.tally(parts[1])).tolist() == together.tolist()


@pytest.mark.parametrize("count", [10, 300, 5000])
def test_rows_that_are_not_contiguous_are_counted_the_same(count: int) -> None:
    wide = random_rows(2 * count, 12)
    built = estimator(8 * 6)
    rows = wide[::2, 3:9]
    assert built.tally(rows).tolist() == built.tally(rows.copy()).tolist()


def test_bit_zero_is_the_most_significant_bit_of_the_first_byte() -> None:
    assert estimator(3).tally(np.array([[0b100_00000]], dtype=np.uint8)).tolist() == [1, 0, 0]


@pytest.mark.parametrize("count", [1, 300, 4096])
def test_a_payload_with_padding_set_is_refused(count: int) -> None:
    rows = np.zeros((count, 1), dtype=np.uint8)
    rows[-1] = 1
    with pytest.raises(DecodeError, match="zeros after bit 3"):
        estimator(3).tally(rows)


@pytest.mark.parametrize(
    "payloads",
    [
        np.zeros((4, 2), dtype=np.uint8),
        np.zeros(4, dtype=np.uint8),
        np.zeros((4, 1), dtype=np.int64),
        np.zeros((4, 1), dtype=bool),
        [[0], [1]],
    ],
)
def test_payloads_of_another_shape_or_type_are_refused(payloads: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="payloads must"):
        estimator(8).tally(payloads)


@pytest.mark.parametrize(
    ("tally", "n"),
    [
        ([1, 2], 3),
        ([1, 2, 4], 3),
        ([1, -1, 2], 3),
        ([1.0, 2.0, 3.0], 3),
        ([[1, 2, 3]], 3),
        ([0, 0, 0], -1),
        ([2**63, 0, 0], 5),
    ],
)
def test_a_tally_that_n_reports_cannot_give_is_refused(tally: list[int], n: int) -> None:
    with pytest.raises(ParameterError, match="must"):
        estimator(3).estimate(np.array(tally), n)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "20"])
def test_an_all_yes_population_is_estimated_as_one_and_never_as_minus_one(epsilon: str) -> None:
    mechanism = mechanisms.build("rr/1", domain_size=1, epsilon=epsilon)
    n = 10**15
    expected = round(n * mechanism.p)
    estimate = estimator_for(mechanism).estimate(np.array([expected]), n)
    assert estimate.frequencies[0] == pytest.approx(1, abs=1e-13)


def test_the_error_of_a_vector_is_that_of_its_share_of_epsilon() -> None:
    alone, together = estimator(1, "1"), estimator(4, "4")
    one = alone.estimate(np.array([600]), 1000)
    four = together.estimate(np.array([600] * 4), 1000)
    assert four.std_errors.tolist() == [one.std_errors[0]] * 4


def test_bits_are_presented_clipped() -> None:
    assert estimator(3).default_projection == "clip"
