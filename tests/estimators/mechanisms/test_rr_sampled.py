from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared import mechanisms
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import Mechanism
from deniable_shared.randomness.coins import Coins


def sampled(m: int, t: int, epsilon: str = "1") -> Mechanism:
    return mechanisms.build("rr-sampled/1", domain_size=m, epsilon=epsilon, sampled=t)


def estimator(m: int, t: int, epsilon: str = "1") -> Estimator:
    return estimator_for(sampled(m, t, epsilon))


def rows_of(payloads: list[bytes], size: int) -> np.ndarray:
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), size)


@settings(deadline=None)
@given(st.sampled_from([(1, 1), (8, 2), (128, 3), (129, 2), (4096, 4)]), st.integers(0, 30))
def test_the_tally_counts_tellings_and_ones_of_each_bit(shape: tuple[int, int], n: int) -> None:
    m, t = shape
    mechanism, width = sampled(m, t), 1 if m <= 128 else 2
    payloads = [mechanism.randomize([1, *[0] * (m - 1)], Coins.system()) for _ in range(n)]
    result, ones = [0] * m, [0] * m
    for payload in payloads:
        for at in range(0, len(payload), width):
            code = int.from_bytes(payload[at : at + width], "big")
            result[code >> 1] += 1
            ones[code >> 1] += code & 1
    tally = estimator(m, t).tally(rows_of(payloads, t * width))
    assert tally.dtype == np.int64
    assert tally.tolist() == result + ones


def test_batches_longer_than_a_slice_are_counted_whole_and_parts_add_up() -> None:
    rows = np.tile(np.array([[0, 3], [1, 4]], dtype=np.uint8), (40_000, 1))
    built = estimator(3, 2)
    whole = built.tally(rows)
    assert whole.tolist() == [80_000, 40_000, 40_000, 40_000, 40_000, 0]
    assert (built.tally(rows[:7]) + built.tally(rows[7:])).tolist() == whole.tolist()
    assert built.tally(rows[::2]).tolist() == built.tally(rows[::2].copy()).tolist()


@pytest.mark.parametrize("row", [[0, 1], [2, 0], [4, 6], [255, 255]])
def test_a_payload_nobody_can_send_is_refused(row: list[int]) -> None:
    with pytest.raises(DecodeError, match="payloads must name places"):
        estimator(3, 2).tally(np.array([row], dtype=np.uint8))


@pytest.mark.parametrize(
    ("tally", "n"),
    [
        ([2, 1, 1, 0], 2),
        ([1, 1, 2, 0], 2),
        ([1, 1, 0, 0], 1),
        ([1, 1, -1, 0], 2),
        ([3, -1, 0, 0], 2),
        ([1, 1, 0], 2),
    ],
)
def test_a_tally_that_n_reports_cannot_give_is_refused(tally: list[int], n: int) -> None:
    with pytest.raises(ParameterError, match="tally must"):
        estimator(2, 1).estimate(np.array(tally), n)


def test_a_frequency_is_the_share_among_the_reports_that_tell_of_the_bit() -> None:
    mechanism = sampled(3, 1, "4")
    one = mechanisms.build("rr/1", domain_size=1, epsilon="4")
    estimate = estimator_for(mechanism).estimate(np.array([10, 40, 50, 4, 10, 49]), 100)
    for place, (result, ones) in enumerate([(10, 4), (40, 10), (50, 49)]):
        alone = estimator_for(one).estimate(np.array([ones]), result)
        for name in ("frequencies", "std_errors", "lower", "upper", "reports_to_leave"):
            assert getattr(estimate, name)[place] == getattr(alone, name)[0]


def test_a_bit_nobody_told_of_has_no_estimate_and_the_others_have_theirs() -> None:
    estimate = estimator(3, 1).estimate(np.array([60, 0, 40, 30, 0, 20]), 100)
    assert np.isnan(estimate.frequencies).tolist() == [False, True, False]
    assert np.isnan(estimate.std_errors).tolist() == [False, True, False]
    assert (estimate.lower[1], estimate.upper[1], estimate.reports_to_leave[1]) == (0, 1, 0)
    nothing = estimator(3, 1).estimate(np.zeros(6, dtype=np.int64), 0)
    assert np.isnan(nothing.frequencies).all()
    assert math.isnan(nothing.influence)


def test_one_device_moves_most_the_bit_of_which_fewest_tell() -> None:
    mechanism = sampled(3, 1)
    estimate = estimator_for(mechanism).estimate(np.array([60, 30, 10, 9, 9, 9]), 100)
    assert estimate.influence == pytest.approx(float(1 / (10 * (mechanism.p - mechanism.q))))


def test_liars_all_tell_of_the_same_bit() -> None:
    """b_j = b/(b + (1 − b)·t/m): 1% of the reports is 7.5% of those about one bit of eight."""
    estimate = estimator(8, 1).estimate(np.array([1000] * 8 + [500] * 8), 8000)
    one = mechanisms.build("rr/1", domain_size=1, epsilon="1")
    alone = estimator_for(one).estimate(np.array([500]), 1000)
    share = 0.01 / (0.01 + 0.99 / 8)
    for widened, expected in zip(estimate.under_lies(0.01), alone.under_lies(share), strict=True):
        assert widened[0] == pytest.approx(expected[0], rel=1e-12)


def test_the_error_is_that_of_the_best_sample_of_the_reference() -> None:
    """m = 8, ε = 4: n·Var = (m/t)(σ² + ¼) at f = ½, 1.72 with two bits."""
    mechanism = mechanisms.build("rr-sampled/1", domain_size=8, epsilon="4")
    n = 40_000
    tally = np.array([n // 4] * 8 + [n // 8] * 8)
    estimate = estimator_for(mechanism).estimate(tally, n)
    assert n * estimate.std_errors[0] ** 2 == pytest.approx(1.72, abs=0.01)


def test_bits_are_presented_clipped() -> None:
    assert estimator(3, 1).default_projection == "clip"


def test_all_of_the_bits_told_is_the_plain_mechanism() -> None:
    all_told = estimator(4, 4).estimate(np.array([100] * 4 + [10, 40, 50, 90]), 100)
    plain = mechanisms.build("rr/1", domain_size=4, epsilon="1")
    same = estimator_for(plain).estimate(np.array([10, 40, 50, 90]), 100)
    assert all_told.lower.tolist() == same.lower.tolist()
    assert all_told.sampling_fraction == Fraction(1)
