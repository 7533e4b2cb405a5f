"""Projective designs: numbers, draws, which space. The promise: test_exact_privacy."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import accumulate, permutations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_shared.algebra.finite_fields import finite_field, prime_power
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.analysis.optimal_error import design_error, ratio_to_optimum
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.projective import ProjectiveResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import check_follows_pmf, check_private, check_tight, laws
from support.tiers import grid

TRUTHFUL, OTHER = bytes(8), b"\xff" * 8
SPACES = [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (4, 3), (5, 3), (7, 3), (8, 3), (9, 3)]
LARGE = [(1000, "1"), (60_000, "2"), (250_000, "0.1"), (10**6, "0.5"), (10**6, "1"), (10**6, "6")]


def projective(d: int, epsilon: str = "1", **pinned: int) -> ProjectiveResponse:
    mechanism = build("projective/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, ProjectiveResponse)
    return mechanism


def whole(q: int, t: int, epsilon: str = "1") -> ProjectiveResponse:
    """Every code is a choice."""
    return projective(point_count(q, t), epsilon, field_order=q, dimension=t)


def vectors(q: int, t: int) -> list[tuple[int, ...]]:
    """Points in the order of their numbers: those whose first digit that is not 0 is 1."""
    every = product(range(q), repeat=t)
    return [digits for digits in every if next((digit for digit in digits if digit), 0) == 1]


def values(q: int, t: int) -> list[tuple[tuple[int, ...], int]]:
    """The digits before the place of each value, and how many are behind it."""
    return [
        (before, behind)
        for behind in range(t)
        for before in product(range(q), repeat=t - 1 - behind)
    ]


def meets(q: int, point: tuple[int, ...], value: tuple[tuple[int, ...], int]) -> bool:
    """By the definition, in the arithmetic of the field."""
    field, total = finite_field(q), 0
    for one, other in zip(value[0], point, strict=False):
        total = field.add(total, field.multiply(one, other))
    return point[len(point) - 1 - value[1]] == total


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_supports_are_those_of_the_definition(q: int, t: int) -> None:
    mechanism, points, places = whole(q, t), vectors(q, t), values(q, t)
    assert len(points) == len(places) == mechanism.alphabet_size
    for code, point in enumerate(points):
        payload = code.to_bytes(mechanism.payload_size, "big")
        for label, value in enumerate(places):
            assert mechanism.supports(payload, label) == meets(q, point, value)


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_codes_are_a_design_of_values_and_pairs(q: int, t: int) -> None:
    mechanism = whole(q, t)
    codes = range(mechanism.alphabet_size)
    sets = [
        {label for label in codes if mechanism._supports_value(0, code, label)} for code in codes
    ]
    assert {len(each) for each in sets} == {mechanism.support_size}
    assert set(Counter(v for each in sets for v in each).values()) == {mechanism.support_size}
    pairs = Counter(pair for each in sets for pair in permutations(each, 2))
    assert set(pairs.values()) == {point_count(q, t - 2)}
    assert len(pairs) == len(codes) * (len(codes) - 1)


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_draws_name_each_supporting_point_once_and_each_other_once(q: int, t: int) -> None:
    mechanism = whole(q, t)
    codes, size = mechanism.alphabet_size, mechanism.support_size
    for label in range(codes):
        near = [mechanism._draw_code(label, True, draw, 0) for draw in range(size)]
        far = [mechanism._draw_code(label, False, 0, draw) for draw in range(codes - size)]
        assert sorted(near + far) == list(range(codes))
        assert all(mechanism._supports_value(0, code, label) for code in near)


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "10"], by_default=["1"]))
@pytest.mark.parametrize(("d", "q", "t"), [(7, 2, 3), (13, 3, 3), (21, 4, 3), (40, 3, 4)])
def test_epsilon_is_used_up_and_p_and_q_are_those_of_the_cyclic_design(
    d: int, q: int, t: int, epsilon: str
) -> None:
    mechanism = whole(q, t, epsilon)
    assert d == mechanism.alphabet_size
    some = [0, d // 2, d - 2, d - 1]
    of = laws(mechanism, some)
    check_private(of, Fraction(epsilon))
    check_tight(of, Fraction(epsilon))
    check_follows_pmf(mechanism, some)
    twin = build("cyclic/1", domain_size=d, epsilon=epsilon, field_order=q, dimension=t)
    subset_q = (mechanism.support_size - mechanism.p) / (d - 1)
    assert (mechanism.p, mechanism.q) == (twin.p, twin.q) == (mechanism.p, subset_q)


@settings(deadline=None)
@given(st.sampled_from(LARGE), st.data())
def test_coins_say_which_point_and_whether_it_supports_the_value(
    space: tuple[int, str], data: st.DataObject
) -> None:
    mechanism = projective(*space)
    value, rest = data.draw(st.integers(0, space[0] - 1)), Coins.derive(data.draw(st.binary()))
    stream, left = rest.bytes(400), set()
    for coin, holds in ((TRUTHFUL, True), (OTHER, False)):
        coins = Scripted(coin + stream)
        payload = mechanism.randomize(value, coins)
        left.add(len(coins.rest))
        mechanism.validate(payload)
        assert mechanism.supports(payload, value) == holds
        replayed = Scripted(stream)
        draws = [
            replayed.below(size)
            for size in (mechanism.support_size, mechanism.alphabet_size - mechanism.support_size)
        ]
        assert int.from_bytes(payload, "big") == by_definition(mechanism, value, holds, *draws)
    assert left == {len(replayed.rest)}


def by_definition(
    mechanism: ProjectiveResponse, value: int, holds: bool, near: int, far: int
) -> int:
    """PROTOCOL §2, digit by digit."""
    q, t, field = mechanism.field_order, mechanism.dimension, finite_field(mechanism.field_order)
    starts = [0, *accumulate(q**power for power in range(t - 1, 0, -1))]
    k = bisect_right(starts, value) - 1
    before = digits(value - starts[k], q, t - 1 - k)
    if holds:
        drawn, off = digits(led_by_one(near + 1, q), q, t - 1), 0
    else:
        rank, less = divmod(far // q**k + q - 2, q - 1)
        drawn, off = digits(led_by_one(rank, q) * q**k + far % q**k, q, t - 1), q - 1 - less
    head, tail = drawn[: t - 1 - k], drawn[t - 1 - k :]
    for one, other in zip(before, head, strict=True):
        off = field.add(off, field.multiply(one, other))
    point = [*head, off, *tail]
    first = next(place for place, digit in enumerate(point) if digit)
    assert point[first] == 1
    rest = point[first + 1 :]
    behind: int = sum(digit * q**i for i, digit in enumerate(reversed(rest)))
    return point_count(q, len(rest)) + behind


def digits(number: int, q: int, width: int) -> list[int]:
    return [number // q**place % q for place in reversed(range(width))]


def led_by_one(rank: int, q: int) -> int:
    """1, q … 2q − 1, q² … 2q² − 1, …: the one of that rank, 0 for rank 0."""
    power = 1
    while rank > power:
        rank, power = rank - power, power * q
    return power + rank - 1 if rank else 0


@pytest.mark.parametrize(
    ("d", "epsilon", "q", "t", "bytes_"),
    [
        (1000, "1", 4, 6, 2),
        (250_000, "0.5", 3, 12, 3),
        (10**6, "0.1", 2, 20, 3),
        (10**6, "1", 4, 11, 3),
        (10**6, "2", 8, 8, 3),
        (10**6, "4", 43, 5, 3),
    ],
)
def test_the_space_is_that_of_least_error_and_a_point_has_few_bytes(
    d: int, epsilon: str, q: int, t: int, bytes_: int
) -> None:
    mechanism = projective(d, epsilon)
    space = mechanism.field_order, mechanism.dimension
    assert (*space, mechanism.payload_size) == (q, t, bytes_)
    e, _ = exp_bounds(Fraction(epsilon), bits=64)
    errors = {
        (order, dimension): design_error(
            d, point_count(order, dimension), point_count(order, dimension - 1), e
        )
        for order in range(2, 1024)
        if prime_power(order)
        for dimension in range(3, 23)
        if d <= point_count(order, dimension) <= 2**22
    }
    assert errors[space] == min(errors.values())


@pytest.mark.parametrize("epsilon", grid(["0.1", "0.5", "1", "2", "4"], by_default=["0.5", "4"]))
@pytest.mark.parametrize("d", grid([10_000, 300_000, 10**6], by_default=[10_000]))
def test_for_very_many_choices_the_error_is_within_two_percent(d: int, epsilon: str) -> None:
    mechanism = projective(d, epsilon)
    _, most = ratio_to_optimum(mechanism.p, mechanism.q, d, Fraction(epsilon))
    assert most <= Fraction("1.02")


@pytest.mark.parametrize("d", [2, 7, 31, 60])
def test_exactly_the_points_are_valid(d: int) -> None:
    mechanism = projective(d)
    for number in range(256):
        if number < mechanism.alphabet_size:
            mechanism.validate(bytes([number]))
        else:
            with pytest.raises(DecodeError, match="payload must hold a number in"):
                mechanism.validate(bytes([number]))


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused_even_where_it_is_a_code(value: object) -> None:
    with pytest.raises(DomainError, match=r"value must be an index in \[0, 8\]"):
        projective(9).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize(
    ("d", "pinned", "reason"),
    [
        (1, {}, "domain_size must lie in"),
        (10**6 + 1, {}, r"domain_size must lie in \[2, 1000000\]"),
        (9, {"dimension": 3}, "field_order and dimension together"),
        (9, {"field_order": 2048, "dimension": 3}, "field_order must be a prime"),
        (9, {"field_order": 2053, "dimension": 3}, "must give 9 to 4194304 codes"),
        (9, {"field_order": 2, "dimension": 24}, "dimension must be at least 3"),
        (9, {"field_order": 10**30, "dimension": 3}, "field_order must be a prime"),
    ],
)
def test_spaces_that_cannot_be_are_refused(d: int, pinned: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        projective(d, "1", **pinned)


def test_the_example_of_the_protocol_is_right() -> None:
    text = (Path(__file__).parents[3] / "shared" / "PROTOCOL.md").read_text()
    mechanism = whole(4, 3)
    held = [code for code in range(21) if mechanism._supports_value(0, code, 7)]
    drawn = [mechanism._draw_code(7, True, 3, 0), mechanism._draw_code(7, False, 0, 9)]
    sentence = "index 7 is supported by y = {}, {}, {}, {}, {}; i = 3 gives {} and k = 9 gives {}."
    assert sentence.format(*held, *drawn) in text
