"""Cyclic designs: supports, payload, draws, which space. The promise: test_exact_privacy."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.algebra.difference_sets import difference_set, hyperplane_size
from deniable_shared.algebra.finite_fields import prime_power
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.analysis.optimal_error import design_error, ratio_to_optimum, total_error
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds
from support.doubles.scripted_coins import Scripted
from support.tiers import grid

TRUTHFUL, OTHER = bytes(8), b"\xff" * 8


def cyclic(d: int, epsilon: str = "1", **pinned: int) -> CyclicResponse:
    mechanism = build("cyclic/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, CyclicResponse)
    return mechanism


@pytest.mark.parametrize(("q", "t"), [(2, 3), (3, 3), (4, 3), (2, 4), (5, 3)])
def test_codes_are_a_design_of_choices_and_pairs(q: int, t: int) -> None:
    codes = point_count(q, t)
    mechanism = cyclic(codes, field_order=q, dimension=t)
    sets = [
        {label for label in range(codes) if mechanism.supports(payload, label)}
        for payload in mechanism.pmf(0)
    ]
    assert {len(each) for each in sets} == {hyperplane_size(q, t)}
    assert set(Counter(v for each in sets for v in each).values()) == {hyperplane_size(q, t)}
    pairs = Counter(pair for each in sets for pair in permutations(each, 2))
    assert (len(pairs), len(set(pairs.values()))) == (codes * (codes - 1), 1)


@pytest.mark.parametrize(("d", "q", "t"), [(3, 2, 3), (7, 2, 3), (9, 3, 3), (10, 2, 4)])
def test_p_and_q_hold_for_every_pair_of_codes_used_or_not(d: int, q: int, t: int) -> None:
    mechanism = cyclic(d, field_order=q, dimension=t)
    for value in range(d):
        law = mechanism.pmf(value)
        for code in range(mechanism.alphabet_size):
            held = sum(law[payload] for payload in law if mechanism.supports(payload, code))
            assert held == (mechanism.p if code == value else mechanism.q)


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "4"], by_default=["0.5", "4"]))
@pytest.mark.parametrize("d", [2, 5, 13])
def test_total_error_by_enumeration_is_that_of_the_formula(d: int, epsilon: str) -> None:
    mechanism = cyclic(d, epsilon, field_order=3, dimension=3)
    p, q, codes, size = mechanism.p, mechanism.q, mechanism.alphabet_size, mechanism.support_size
    law, total = mechanism.pmf(0), Fraction()
    for label in range(d):
        scores = {y: (mechanism.supports(y, label) - q) / (p - q) for y in law}
        mean = sum((law[y] * score for y, score in scores.items()), Fraction())
        assert mean == (label == 0)
        total += sum(law[y] * (score - mean) ** 2 for y, score in scores.items())
    e_eff = p * (codes - size) / (size * (1 - p))
    assert total == total_error(p, q, d) == design_error(d, codes, size, e_eff)


@given(st.sampled_from([(7, "1"), (100, "0.5"), (1000, "2"), (60_000, "1")]), st.data())
def test_coins_say_which_distance_and_whether_it_is_in_the_set(
    space: tuple[int, str], data: st.DataObject
) -> None:
    mechanism = cyclic(*space)
    value, rest = data.draw(st.integers(0, space[0] - 1)), Coins.derive(data.draw(st.binary()))
    stream, left = rest.bytes(400), set()
    members = difference_set(mechanism.field_order, mechanism.dimension)
    for coin, holds in ((TRUTHFUL, True), (OTHER, False)):
        coins = Scripted(coin + stream)
        code = int.from_bytes(mechanism.randomize(value, coins), "big")
        left.add(len(coins.rest))
        replayed = Scripted(stream)
        member = members[replayed.below(mechanism.support_size)]
        other = replayed.below(mechanism.alphabet_size - mechanism.support_size)
        distance = (code - value) % mechanism.alphabet_size
        if holds:
            assert distance == member
        else:
            place = bisect_right(members, distance)
            assert members[place - 1] != distance or not place
            assert distance - place == other  # of those outside, in rising order
    assert left == {len(replayed.rest)}


@pytest.mark.parametrize(
    ("d", "epsilon", "q", "t", "bytes_"),
    [
        (64, "1", 4, 4, 1),
        (1000, "1", 4, 6, 2),
        (1000, "2", 8, 5, 2),
        (10_000, "1", 4, 8, 2),
        (60_000, "1", 4, 9, 3),
        (60_000, "6", 401, 3, 3),
    ],
)
def test_the_space_is_that_of_least_error_and_a_code_has_few_bytes(
    d: int, epsilon: str, q: int, t: int, bytes_: int
) -> None:
    mechanism = cyclic(d, epsilon)
    space = mechanism.field_order, mechanism.dimension
    assert (*space, mechanism.payload_size) == (q, t, bytes_)
    e, _ = exp_bounds(Fraction(epsilon), bits=64)
    others = [
        (order, dimension)
        for order in range(2, 512)
        if prime_power(order)
        for dimension in range(3, 19)
        if d <= point_count(order, dimension) <= 2**18
    ]
    errors = {
        each: design_error(d, point_count(*each), hyperplane_size(*each), e) for each in others
    }
    assert errors[space] == min(errors.values())


@pytest.mark.parametrize(
    "epsilon", grid(["0.1", "0.5", "1", "2", "4", "6"], by_default=["0.5", "4"])
)
def test_small_sets_among_many_choices_have_nearly_the_least_error(
    epsilon: str,
) -> None:
    """4.5%, for d/(1 + E) ≥ 16: docs/mathematics/planning.md, The mechanism of a question."""
    low, _ = exp_bounds(Fraction(epsilon), bits=64)
    for times in (17, 30, 64, 150):
        d = int(times * (1 + low))
        mechanism = cyclic(d, epsilon)
        _, most = ratio_to_optimum(mechanism.p, mechanism.q, d, Fraction(epsilon))
        assert most <= Fraction("1.045")


@pytest.mark.parametrize("d", [2, 7, 31, 60])
def test_exactly_the_codes_are_valid(d: int) -> None:
    mechanism = cyclic(d)
    for number in range(256):
        if number < mechanism.alphabet_size:
            mechanism.validate(bytes([number]))
        else:
            with pytest.raises(DecodeError, match="payload must hold a number in"):
                mechanism.validate(bytes([number]))
    with pytest.raises(DecodeError, match="payload must be 1 bytes, got 2"):
        mechanism.validate(bytes(2))


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError, match=r"value must be an index in \[0, 8\]"):
        cyclic(9).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize(
    ("d", "pinned", "reason"),
    [
        (1, {}, "domain_size must lie in"),
        (2**18, {}, "projective/1 take up to 1,000,000 choices"),
        (9, {"field_order": 3}, "field_order and dimension together"),
        (9, {"field_order": 6, "dimension": 3}, "field_order must be a prime"),
        (9, {"field_order": 3, "dimension": 2}, "dimension must be at least 3"),
        (9, {"field_order": 3, "dimension": 10**9}, "dimension must be at least 3"),
        (9, {"field_order": 2, "dimension": 3}, "must give 9 to 262144 codes, got 7"),
        (9, {"field_order": 1009, "dimension": 3}, "must give 9 to 262144 codes"),
    ],
)
def test_spaces_that_cannot_be_are_refused(d: int, pinned: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        cyclic(d, "1", **pinned)
