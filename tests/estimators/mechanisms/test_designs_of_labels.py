"""Subset selection and affine thresholds as counted: supports, counted in every way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_estimators.inference.protocols import Estimator
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.mechanisms.affine import _by_code, _by_message, _inverses
from deniable_shared import mechanisms
from deniable_shared.analysis.optimal_error import total_error
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.randomness.coins import Coins
from support.tiers import rows

IDS = ["subset/1", "affine/1"]


def built(id: str, choices: int, epsilon: str = "1", **pinned: int) -> Mechanism:
    return mechanisms.build(id, domain_size=choices, epsilon=epsilon, permanent=None, **pinned)


def estimator(id: str, choices: int, epsilon: str = "1", **pinned: int) -> Estimator:
    return estimator_for(built(id, choices, epsilon, **pinned))


def reports(mechanism: Mechanism, values: list[int]) -> np.ndarray:
    coins = Coins.system()
    sent = b"".join(mechanism.randomize(value, coins) for value in values)
    return np.frombuffer(sent, dtype=np.uint8).reshape(len(values), mechanism.payload_size)


@settings(deadline=None)
@given(
    st.sampled_from(IDS),
    st.sampled_from(
        [(2, "1"), (9, "3"), (63, "1"), (63, "3"), (256, "4"), (300, "4"), (300, "0.5")]
    ),
    st.data(),
)
def test_supports_are_those_of_each_payload(
    id: str, space: tuple[int, str], data: st.DataObject
) -> None:
    mechanism = built(id, *space)
    rows = reports(mechanism, data.draw(st.lists(st.integers(0, space[0] - 1), max_size=12)))
    counted = estimator_for(mechanism)
    tally = counted.tally(rows)
    assert (tally.dtype, tally.shape) == (np.dtype(np.int64), (mechanism.tally_size,))
    for label in range(mechanism.tally_size):
        assert tally[label] == sum(mechanism.supports(bytes(row), label) or 0 for row in rows)
    assert counted.supports(tally).tolist() == tally[: space[0]].tolist()


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(
    ("choices", "epsilon"),
    rows([(12, "1"), (12, "3"), (300, "4")], by_default=[(12, "1"), (300, "4")]),
)
def test_tallies_of_parts_add_up_to_the_tally_of_the_whole(
    id: str, choices: int, epsilon: str
) -> None:
    """Few reports are counted in another way than many: both give the same."""
    mechanism = built(id, choices, epsilon)
    rows, counted = reports(mechanism, [3] * 5000), estimator(id, choices, epsilon)
    parts = [counted.tally(rows[start : start + 7]) for start in range(0, 700, 7)]
    parts.append(counted.tally(rows[700:]))
    assert counted.tally(rows).tolist() == np.sum(parts, axis=0).tolist()
    assert counted.tally(rows[::3]).tolist() == counted.tally(rows[::3].copy()).tolist()
    assert counted.tally(rows[:0]).tolist() == [0] * mechanism.tally_size


@pytest.mark.parametrize("id", IDS)
def test_batches_longer_than_a_slice_are_counted_whole(id: str) -> None:
    mechanism = built(id, 60, "3")
    rows = np.tile(reports(mechanism, list(range(60))), (2000, 1))
    counted = estimator_for(mechanism)
    assert counted.tally(rows).tolist() == (2000 * counted.tally(rows[:60])).tolist()


@pytest.mark.parametrize(("modulus", "size"), [(3, 1), (3, 2), (5, 4), (7, 3), (101, 1), (101, 37)])
def test_codes_are_counted_alike_one_by_one_and_by_message(modulus: int, size: int) -> None:
    form = AffineResponse(modulus, Fraction(1), modulus, size)
    messages = np.arange(form.alphabet_size)[::-1].copy()
    one_each = _by_code(messages, form)
    assert (
        one_each.tolist() == _by_message(messages, form).tolist() == [form.support_size] * modulus
    )
    some = messages[:: max(1, form.alphabet_size // 40)]
    assert _by_code(some, form).tolist() == _by_message(some, form).tolist()


@pytest.mark.parametrize("modulus", [3, 5, 101, 65_537, 1_000_003])
def test_inverses_are_inverses(modulus: int) -> None:
    numbers = np.arange(1, modulus // 2 + 1)
    assert (_inverses(modulus)[1:] * numbers % modulus == 1).all()


def test_payloads_no_device_sends_are_refused() -> None:
    cases: tuple[tuple[str, dict[str, int], list[int], str], ...] = (
        ("subset/1", {"subset_size": 2}, [0b1000_0000], "hold 2 choices each"),
        ("subset/1", {"subset_size": 2}, [0b1100_0001], "zeros after bit 7"),
        ("affine/1", {}, [21], "numbers below 21, got 21"),
    )
    for id, pinned, payload, reason in cases:
        with pytest.raises(DecodeError, match=reason):
            estimator(id, 7, "1", **pinned).tally(np.array([payload], dtype=np.uint8))
    listed = estimator("subset/1", 63, subset_size=3)
    for row, reason in (([9, 9, 48], "rising order"), ([9, 48, 63], "below 63, got 63")):
        with pytest.raises(DecodeError, match=reason):
            listed.tally(np.array([row], dtype=np.uint8))


@pytest.mark.parametrize("id", IDS)
def test_a_tally_that_four_reports_cannot_give_is_refused(id: str) -> None:
    """w = 2 of 5."""
    counted = estimator(id, 5, subset_size=2)
    assert counted.estimate(np.array([4, 1, 1, 1, 1]), 4).n == 4
    for tally in ([4, 1, 1, 1, 0], [5, 0, 1, 1, 1], [4, 4, -1, 1, 0], [4, 4]):
        with pytest.raises(ParameterError, match="tally must"):
            counted.estimate(np.array(tally), 4)


@settings(deadline=None)
@given(st.sampled_from(IDS), st.data())
def test_raw_frequencies_of_all_codes_add_up_to_one(id: str, data: st.DataObject) -> None:
    mechanism = built(id, 11)
    values = data.draw(st.lists(st.integers(0, 10), min_size=1, max_size=20))
    counted = estimator_for(mechanism)
    estimate = counted.estimate(counted.tally(reports(mechanism, values)), len(values))
    assert estimate.frequencies.sum() == pytest.approx(1, abs=1e-9)
    assert counted.default_projection == "simplex"


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero(id: str, repeat: str) -> None:
    permanent = "4" if repeat == "memoized" else None
    mechanism = mechanisms.build(id, domain_size=8, epsilon="2", permanent=permanent)
    n = 10**15
    chance = [mechanism.p, *[mechanism.q] * (mechanism.tally_size - 1)]
    tally = np.array([round(n * each) for each in chance])
    tally[0] += round(n * sum(chance)) - tally.sum()
    estimate = estimator_for(mechanism, repeat).estimate(tally, n, epochs=3)
    assert estimate.frequencies.tolist() == pytest.approx([1, *[0] * 7], abs=1e-13)


@pytest.mark.statistical
@pytest.mark.parametrize(("id", "choices"), [("subset/1", 60), ("affine/1", 100)])
def test_the_measured_total_error_is_that_of_the_formula(id: str, choices: int) -> None:
    """60,000 reports of uneven values in batches of 100, each batch a sample of Σ(f̂ − f)².

    600 sums, each of which has a relative deviation of at most √(2/20): the effective number of
    labels is over 20. The bound is 6 deviations of the mean, 7.8%; false alarm under 1e-8.
    """
    mechanism, n = built(id, choices), 100
    counted = estimator_for(mechanism)
    values = [(7 * place * place) % choices for place in range(n)]
    true = np.bincount(values, minlength=choices) / n
    rows = reports(mechanism, values * 600).reshape(600, n, -1)
    off = [squared(counted.estimate(counted.tally(each), n).frequencies, true) for each in rows]
    expected = float(total_error(mechanism.p, mechanism.q, choices)) / n
    assert np.mean(off) == pytest.approx(expected, rel=0.078)


def squared(estimated: np.ndarray, true: np.ndarray) -> float:
    return float(((estimated - true) ** 2).sum())


def test_codes_that_stand_for_nothing_are_counted_and_show_what_is_made_up() -> None:
    """K = 97 for 90 choices: the seven others are supported with q by every honest report."""
    mechanism = built("affine/1", 90, "2")
    counted = estimator_for(mechanism)
    n = 4000
    unused = counted.tally(reports(mechanism, [5] * n))[90:]
    assert unused.shape == (7,)
    deviation = float(n * mechanism.q * (1 - mechanism.q)) ** 0.5
    assert (np.abs(unused - float(n * mechanism.q)) < 8 * deviation).all()
    forged = made_up(mechanism, 95, n)
    assert counted.tally(forged)[95] == n


def made_up(mechanism: Mechanism, code: int, n: int) -> np.ndarray:
    """A message with an impossible code, n times."""
    messages = (number.to_bytes(mechanism.payload_size, "big") for number in range(10**4))
    payload = next(each for each in messages if mechanism.supports(each, code))
    return np.tile(np.frombuffer(payload, dtype=np.uint8), (n, 1))
