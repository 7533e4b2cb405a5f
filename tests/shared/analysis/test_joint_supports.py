"""Sums of supports: each moment of every mechanism, against its pmf."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism, build
from support.tiers import grid

IDS = ("grr/1", "subset/1", "sue/1", "oue/1", "hadamard/1")


MECHANISMS: list[Mechanism] = [
    build(id, domain_size=size, epsilon="1") for id in IDS for size in (2, 3, 4, 5)
]
MECHANISMS += [build(id, domain_size=4, epsilon="1", permanent="2") for id in IDS]
USUAL = [each for each in MECHANISMS[:20] if each.domain_size in (2, 4)]
USUAL += [MECHANISMS[20], MECHANISMS[-1]]  # the chains of the first and of the last mechanism


def mean_of(mechanism: Mechanism, x: int, *sets: tuple[int, ...]) -> Fraction:
    """E of the product of the supports of these sets."""
    total = Fraction()
    for payload, chance in mechanism.pmf(x).items():
        for choices in sets:
            chance *= sum(bool(mechanism.supports(payload, v)) for v in choices)
        total += chance
    return total


@pytest.mark.parametrize("mechanism", grid(MECHANISMS, by_default=USUAL), ids=str)
def test_means_squares_and_products_are_those_of_the_law(mechanism: Mechanism) -> None:
    law, size = JointSupports.of(mechanism), mechanism.domain_size
    for count in range(1, size):
        for chosen in combinations(range(size), count):
            others = tuple(v for v in range(size) if v not in chosen)
            for x in (chosen[0], others[0]):
                inside = x in chosen
                assert law.mean(count, inside=inside) == mean_of(mechanism, x, chosen)
                assert law.square(count, inside=inside) == mean_of(mechanism, x, chosen, chosen)
            product = law.product(count, len(others), inside=True)
            assert product == mean_of(mechanism, chosen[0], chosen, others)
            if len(others) > 1:
                apart = law.product(count, len(others) - 1, inside=False)
                assert apart == mean_of(mechanism, others[0], chosen, others[1:])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_no_report_supports_more_than_is_said_and_one_does(mechanism: Mechanism) -> None:
    law, every = JointSupports.of(mechanism), range(mechanism.domain_size)
    counts = [sum(bool(mechanism.supports(y, v)) for v in every) for y in mechanism.pmf(0)]
    assert max(counts) <= law.max_support
    if "hadamard" not in mechanism.id:
        assert max(counts) == law.max_support


def test_designs_have_no_error_of_sums() -> None:
    with pytest.raises(ParameterError, match="take subset/1, hadamard/1 or pairs/1"):
        JointSupports.of(build("affine/1", domain_size=20, epsilon="1"))
