"""Supports as a 2-design: the bound on how much k varies, against every set and every value."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from deniable_estimators.inference.designs import design_of, largest_variance, spread_within
from deniable_shared.errors import ParameterError
from support.builders.small_mechanisms import (
    CHOICES,
    mechanism,
)
from support.oracles.message_laws import MessageLaw
from support.tiers import grid

SETS = sorted(name for name, built in CHOICES.items() if built.id not in ("oue/1", "sue/1"))


def sizes(law: MessageLaw) -> list[list[Fraction]]:
    """The law of each message given each value."""
    return [[law.mechanism.pmf(v)[m] for m in law.messages] for v in law.inputs]


@pytest.mark.parametrize("name", grid(sorted(CHOICES), by_default=sorted(CHOICES)[::2]))
def test_no_set_of_labels_varies_more_than_is_stated_whatever_the_value(name: str) -> None:
    law = MessageLaw(CHOICES[name])
    supports, worst = law.supports(law.tallies), Fraction(0)
    for size in range(1, law.labels + 1):
        for members in combinations(range(law.labels), size):
            k = [Fraction(int(each)) for each in supports[:, members].sum(axis=1)]
            for chances in sizes(law):
                mean = sum((c * x for c, x in zip(chances, k, strict=True)), Fraction())
                away = ((x - mean) ** 2 for x in k)
                spread = sum((c * x for c, x in zip(chances, away, strict=True)), Fraction())
                assert spread <= spread_within(law.mechanism, size)
                worst = max(worst, spread)
    assert worst <= largest_variance(law.mechanism)


@pytest.mark.parametrize("name", SETS)
def test_each_pair_of_labels_is_supported_by_as_many_messages(name: str) -> None:
    law, (codes, held) = MessageLaw(CHOICES[name]), design_of(CHOICES[name])
    supports = law.supports(law.tallies)
    both, count = supports.T @ supports, len(law.messages)
    for u, v in combinations(range(law.labels), 2):
        assert both[u, u] * codes == held * count
        assert both[u, v] * codes * (codes - 1) == held * (held - 1) * count


def test_a_unary_encoding_tosses_its_bits_one_by_one() -> None:
    built = mechanism("oue/1", 9)
    bits = 8 * built.q * (1 - built.q) + Fraction(1, 4)
    assert largest_variance(built) == bits


def test_what_supports_no_codes_is_refused() -> None:
    with pytest.raises(ParameterError, match="square-wave/1 must support sets of codes"):
        largest_variance(mechanism("square-wave/1", 8))


def test_bounds_are_those_of_floats_too_at_a_thousand_labels() -> None:
    built = mechanism("affine/1", 1000)
    codes, held = design_of(built)
    inside = np.float64(float(built.p)) * 500 * (codes - 500) / (codes - 1) * (codes - held) / codes
    assert float(spread_within(built, 500)) == pytest.approx(inside)
