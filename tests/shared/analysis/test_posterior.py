from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest

from deniable_shared.analysis.posterior import max_posterior, max_posterior_percent


@pytest.mark.parametrize("thousandths", [1, 10, 500, 1_000, 1_100, 3_999, 4_000, 7_000, 12_000])
def test_a_certainty_is_never_rounded_down_and_by_less_than_a_tenth(thousandths: int) -> None:
    epsilon = Fraction(thousandths, 1_000)
    truly = 100 / (1 + exp(-float(epsilon)))
    shown = float(max_posterior_percent(epsilon))
    assert truly <= shown + 1e-9 < truly + 0.1 + 2e-9
    assert shown < 100


@pytest.mark.parametrize(
    ("epsilon", "shown"), [("1", "73.2"), ("2", "88.1"), ("8", "99.97"), ("20", "99.9999998")]
)
def test_a_certainty_has_one_decimal_or_as_many_as_stay_below_100(epsilon: str, shown: str) -> None:
    assert max_posterior_percent(Fraction(epsilon)) == shown


def test_the_bound_is_the_number_but_for_the_precision_of_floats() -> None:
    assert abs(max_posterior(Fraction(1)) - Fraction(exp(1) / (1 + exp(1)))) < Fraction(1, 10**12)
