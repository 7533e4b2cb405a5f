"""Unary encodings as counted: the tally is that of `rr/1`, the estimates are those of choices."""

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

BOTH = pytest.mark.parametrize("id", ["sue/1", "oue/1"])


def built(id: str, choices: int, epsilon: str = "1") -> tuple[Mechanism, Estimator]:
    mechanism = mechanisms.build(id, domain_size=choices, epsilon=epsilon)
    return mechanism, estimator_for(mechanism)


def rows_of(payloads: list[bytes], size: int) -> np.ndarray:
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), size)


@BOTH
@settings(deadline=None)
@given(choices=st.sampled_from([2, 8, 9, 33, 1000, 4096]), n=st.integers(0, 30))
def test_the_tally_counts_what_payloads_support(id: str, choices: int, n: int) -> None:
    mechanism, estimator = built(id, choices)
    payloads = [mechanism.randomize(choices - 1, Coins.system()) for _ in range(n)]
    tally = estimator.tally(rows_of(payloads, mechanism.payload_size))
    for label in (0, choices // 2, choices - 1):
        assert tally[label] == sum(bool(mechanism.supports(each, label)) for each in payloads)
    assert len(tally) == choices
    assert estimator.supports(tally).tolist() == tally.tolist()


@BOTH
@pytest.mark.parametrize("count", [1, 300, 4096])
def test_a_payload_with_padding_set_is_refused(id: str, count: int) -> None:
    rows = np.zeros((count, 1), dtype=np.uint8)
    rows[-1] = 1
    with pytest.raises(DecodeError, match="zeros after bit 3"):
        built(id, 3)[1].tally(rows)


@BOTH
@pytest.mark.parametrize("tally", [[1, 2, 4], [1, -1, 2], [1, 2]])
def test_a_tally_that_three_reports_cannot_give_is_refused(id: str, tally: list[int]) -> None:
    with pytest.raises(ParameterError, match="tally must"):
        built(id, 3)[1].estimate(np.array(tally), 3)


@BOTH
def test_every_report_may_support_all_choices_or_none(id: str) -> None:
    for tally in ([3, 3, 3], [0, 0, 0]):
        assert built(id, 3)[1].estimate(np.array(tally), 3).n == 3


@BOTH
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "20"])
def test_everybody_alike_is_estimated_as_one_and_the_others_as_zero(id: str, epsilon: str) -> None:
    mechanism, estimator = built(id, 5, epsilon)
    n = 10**15
    tally = np.array([round(n * mechanism.p), *[round(n * mechanism.q)] * 4])
    frequencies = estimator.estimate(tally, n).frequencies
    assert frequencies.tolist() == pytest.approx([1, 0, 0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("frequency", [Fraction(tenths, 10) for tenths in (0, 1, 5, 10)])
def test_standard_errors_are_those_of_the_closed_forms(epsilon: str, frequency: Fraction) -> None:
    """sue 1/(4 sinh²(ε/4)), oue V0 + f, and f(1 − f) for drawing the people.

    docs/mathematics/direct-answers.md, Unary encodings.
    """
    n, e = 10**12, math.exp(float(epsilon))
    forms = {"sue/1": 1 / (4 * math.sinh(float(epsilon) / 4) ** 2)}
    forms["oue/1"] = 4 * e / (e - 1) ** 2 + float(frequency)
    for id, form in forms.items():
        mechanism, estimator = built(id, 2, epsilon)
        support = mechanism.q + (mechanism.p - mechanism.q) * frequency
        estimate = estimator.estimate(np.array([round(n * support), 0]), n)
        variance = n * float(estimate.std_errors[0]) ** 2
        assert variance == pytest.approx(form + float(frequency * (1 - frequency)), rel=1e-6)


@BOTH
def test_choices_are_presented_on_the_simplex(id: str) -> None:
    _, estimator = built(id, 3)
    estimate = estimator.estimate(np.array([500, 300, 450]), 1000)
    assert estimate.frequencies.sum() != pytest.approx(1, abs=1e-3)
    assert estimate.projected(estimator.default_projection).sum() == pytest.approx(1)
