"""What follows from the structure of messages, against all messages of small mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

import pytest

from deniable_shared import mechanisms
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import (
    Design,
    IndependentBits,
    LabelSensitivity,
    OneOf,
    OneOfParts,
    SampledBits,
    Subset,
)

SETS: list[tuple[str, int, Mapping[str, int]]] = [
    ("affine/1", 5, {"modulus": 5, "subset_size": 1}),
    ("affine/1", 7, {"modulus": 7, "subset_size": 3}),
    ("affine/1", 7, {"modulus": 7, "subset_size": 5}),
    ("cyclic/1", 7, {"field_order": 2, "dimension": 3}),
    ("cyclic/1", 13, {"field_order": 3, "dimension": 3}),
    ("cyclic/1", 15, {"field_order": 2, "dimension": 4}),
    ("projective/1", 13, {"field_order": 3, "dimension": 3}),
    ("hadamard/1", 2, {}),
    ("hadamard/1", 4, {}),
    ("hadamard/1", 8, {}),
    ("grr/1", 2, {}),
    ("grr/1", 5, {}),
    ("subset/1", 5, {"subset_size": 1}),
    ("subset/1", 5, {"subset_size": 2}),
    ("subset/1", 5, {"subset_size": 4}),
]
BITS: list[tuple[str, int, Mapping[str, int]]] = [
    ("rr/1", 1, {}),
    ("rr/1", 4, {}),
    ("sue/1", 4, {}),
    ("oue/1", 5, {}),
]


def supports(mechanism: Mechanism) -> list[frozenset[int]]:
    """The labels that each message supports."""
    every, value = range(mechanism.domain_size), next(iter(mechanism.inputs()))
    return [
        frozenset(v for v in every if mechanism.supports(message, v))
        for message in mechanism.pmf(value)
    ]


def built(id: str, size: int, parameters: Mapping[str, int]) -> Mechanism:
    return build(id, domain_size=size, epsilon="1", **parameters)


@pytest.mark.parametrize(("id", "size", "parameters"), SETS)
def test_sets_are_as_many_and_as_large_as_the_structure_says(
    id: str, size: int, parameters: Mapping[str, int]
) -> None:
    mechanism = built(id, size, parameters)
    structure, sets = mechanism.structure, supports(mechanism)
    assert isinstance(structure, OneOf | Subset | Design)
    assert structure.codes == size
    assert {len(held) for held in sets} == {structure.support_size}
    if isinstance(structure, OneOf):
        assert len(sets) == size
    if isinstance(structure, Subset):
        assert len(sets) == len({*sets}) == comb(size, structure.support_size)


@pytest.mark.parametrize(
    ("id", "size", "parameters"), [case for case in SETS if case[0][0] in "ach"]
)
def test_codes_are_together_in_as_many_sets_as_the_design_says(
    id: str, size: int, parameters: Mapping[str, int]
) -> None:
    mechanism = built(id, size, parameters)
    design, sets = mechanism.structure, supports(mechanism)
    assert isinstance(design, Design)
    assert len(sets) == design.messages
    together = [
        {sum(held >= set(codes) for held in sets) for codes in combinations(range(size), many)}
        for many in (1, 2, 3)
    ]
    assert together[:2] == [{design.supporting}, {design.pairs}]
    if design.triples is not None:
        assert together[2] <= {design.triples}


def moved(readings: list[list[int]]) -> LabelSensitivity:
    """The most that each norm of a difference of two messages' readings is."""
    pairs = permutations(readings, 2)
    steps = [[a - b for a, b in zip(one, other, strict=True)] for one, other in pairs]
    return LabelSensitivity(
        range=max(max(step) - min(step) for step in steps),
        l1=max(sum(map(abs, step)) for step in steps),
        l2_squared=max(sum(each * each for each in step) for step in steps),
        linf=max(max(map(abs, step)) for step in steps),
        sets=max(sum(each for each in step if each > 0) for step in steps),
    )


@pytest.mark.parametrize(("id", "size", "parameters"), SETS + BITS)
def test_one_report_moves_readings_as_far_as_two_messages_lie_apart(
    id: str, size: int, parameters: Mapping[str, int]
) -> None:
    mechanism = built(id, size, parameters)
    readings = [[int(v in held) for v in range(size)] for held in supports(mechanism)]
    assert mechanism.structure is not None
    assert mechanism.structure.one_report_moves(size) == moved(readings)


@pytest.mark.parametrize(("id", "size", "parameters"), SETS)
def test_where_some_codes_are_no_labels_no_report_moves_more(
    id: str, size: int, parameters: Mapping[str, int]
) -> None:
    mechanism = built(id, size, parameters)
    assert mechanism.structure is not None
    for labels in range(2, size):
        reach = mechanism.structure.one_report_moves(labels)
        truth = moved([[int(v in held) for v in range(labels)] for held in supports(mechanism)])
        assert reach is not None
        assert reach.range >= truth.range
        assert reach.l1 >= truth.l1
        assert reach.l2_squared >= truth.l2_squared
        assert reach.linf >= truth.linf
        assert reach.sets >= truth.sets


@pytest.mark.parametrize(("unit", "blank"), [(1, 0), (5, 1), (5, 2), (9, 4)])
@pytest.mark.parametrize(("size", "sampled"), [(1, 1), (3, 1), (3, 2), (4, 2), (4, 4), (5, 3)])
def test_sampled_bits_move_readings_as_far_as_two_messages_lie_apart(
    size: int, sampled: int, unit: int, blank: int
) -> None:
    readings = []
    for places in combinations(range(size), sampled):
        for bits in product((0, 1), repeat=sampled):
            one = [0] * size
            for place, bit in zip(places, bits, strict=True):
                one[place] = unit * bit - blank
            readings.append(one)
    exact = moved(readings)
    reach = SampledBits(size, sampled).one_report_moves(size, unit, blank)
    assert (reach.range, reach.l1, reach.l2_squared) == (exact.range, exact.l1, exact.l2_squared)
    assert (reach.linf, reach.sets) == (exact.linf, sampled * unit)


@pytest.mark.parametrize("id", ["sue/1", "oue/1"])
def test_bits_of_one_choice_have_one_law_and_bits_of_several_have_none(id: str) -> None:
    p, q = Fraction(3, 4), Fraction(1, 4)
    assert build(id, domain_size=3, epsilon="1").structure == IndependentBits(3, exclusive=True)
    assert IndependentBits(3).joint_supports(p, q) is None


def test_what_is_shared_of_parts_is_which_one_it_is_and_the_mean_of_theirs() -> None:
    p, q, kept = Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)
    two, four = OneOf(2).linkage(p, q, kept), OneOf(4).linkage(p, q, kept)
    assert OneOfParts((OneOf(2), OneOf(4)), 4).linkage(p, q, kept) == pytest.approx(
        3 + (two + four) / 2, abs=1e-15
    )


def test_a_chain_has_the_structure_of_its_first_round() -> None:
    chain = build("grr/1", domain_size=4, epsilon="1", permanent="2")
    assert chain.structure == OneOf(4)


def test_every_registered_mechanism_says_what_its_messages_are() -> None:
    for id in mechanisms.mechanism_ids():
        more: dict[str, object] = {"radices": (2, 2)} if id in {"pairs/1", "fourier/1"} else {}
        built = build(id, domain_size=4, epsilon="1", permanent=None, **more)
        assert built.structure is not None, id


def test_without_a_structure_what_needs_one_is_not_available() -> None:
    class Unstructured(GeneralizedResponse):
        @property
        def structure(self) -> None:  # type: ignore[override]  # a mechanism without a structure
            return None

    once = Unstructured(4, Fraction(2))
    assert linkage(once) == 0
    with pytest.raises(ParameterError, match="linkage is not available for grr/1"):
        linkage(MemoizedChain(once, Fraction(1)))
    with pytest.raises(ParameterError, match="sums of choices, and tables, are not available"):
        JointSupports.of(once)
