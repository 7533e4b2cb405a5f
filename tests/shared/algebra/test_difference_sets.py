"""Fields and Singer sets: the axioms, the published sets, and the distances, each equally often."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from deniable_shared.algebra.difference_sets import difference_set, hyperplane_size
from deniable_shared.algebra.finite_fields import finite_field, prime_factors, prime_power
from deniable_shared.algebra.recurrences import point_count, primitive_recurrence
from deniable_shared.errors import ParameterError
from support.tiers import rows

FIELDS = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27]
SPACES = [
    (q, t) for q in range(2, 80) if prime_power(q) for t in (2, 3) if point_count(q, t) < 5000
]
SPACES += [(q, t) for q in (2, 3, 4, 5, 7, 8, 9) for t in range(4, 13) if point_count(q, t) < 5000]
PUBLISHED = {
    (2, 3): [3, 5, 6],
    (3, 3): [0, 4, 10, 12],
    (4, 3): [7, 9, 14, 15, 18],
    (5, 3): [6, 8, 9, 14, 26, 30],
    (8, 3): [5, 7, 10, 14, 20, 28, 39, 40, 56],
    (9, 3): [0, 8, 11, 24, 28, 33, 34, 70, 72, 84],
    (3, 4): [5, 13, 15, 20, 22, 25, 26, 31, 34, 35, 37, 38, 39],
}


@pytest.mark.parametrize("q", FIELDS)
def test_a_field_has_sums_products_and_inverses(q: int) -> None:
    field, elements = finite_field(q), range(q)
    for a in elements:
        assert field.add(a, 0) == field.multiply(a, 1) == a
        assert field.multiply(a, 0) == 0
        assert sorted(field.add(a, b) for b in elements) == list(elements)
        if a:
            assert sorted(field.multiply(a, b) for b in elements) == list(elements)
    for a, b, c in product(range(min(q, 9)), elements, range(min(q, 5))):
        assert field.add(a, b) == field.add(b, a)
        assert field.multiply(a, b) == field.multiply(b, a)
        both = field.add(field.multiply(a, b), field.multiply(a, c))
        assert field.multiply(a, field.add(b, c)) == both
        assert field.multiply(field.multiply(a, b), c) == field.multiply(a, field.multiply(b, c))


@pytest.mark.parametrize(("q", "t"), rows(SPACES, by_default=SPACES[::9]))
def test_every_distance_lies_equally_often_between_two_members(q: int, t: int) -> None:
    codes, members = point_count(q, t), difference_set(q, t)
    assert list(members) == sorted(set(members))
    assert len(members) == hyperplane_size(q, t)
    apart = Counter((a - b) % codes for a in members for b in members if a != b)
    assert len(apart) == (codes - 1 if t > 2 else 0)
    assert set(apart.values()) <= {(q ** (t - 2) - 1) // (q - 1)}


@pytest.mark.parametrize("space", PUBLISHED, ids=str)
def test_the_published_sets_are_multiples_and_translates_of_ours(space: tuple[int, int]) -> None:
    codes, ours = point_count(*space), set(difference_set(*space))
    published = PUBLISHED[space]
    assert any(
        {(a * member + b) % codes for member in published} == ours
        for a, b in product(range(1, codes), range(codes))
    )


@pytest.mark.parametrize(("q", "t"), [(2, 3), (3, 3), (4, 3), (2, 5), (9, 3), (3, 5)])
def test_members_are_where_the_recurrence_gives_zero(q: int, t: int) -> None:
    field, coefficients = finite_field(q), primitive_recurrence(q, t)
    sequence = [0] * (t - 1) + [1]
    while len(sequence) < point_count(q, t):
        total = 0
        for c, element in zip(coefficients, sequence[-t:], strict=True):
            total = field.add(total, field.multiply(c, element))
        sequence.append(total)
    assert list(difference_set(q, t)) == [i for i, s in enumerate(sequence) if not s]


@pytest.mark.parametrize(("q", "t"), [(2, 3), (3, 3), (4, 3), (2, 4), (5, 3)])
def test_no_smaller_recurrence_has_the_full_period(q: int, t: int) -> None:
    """By walking: the least k > 0 with x^k in F_q, for every coefficient vector below ours."""
    field, codes = finite_field(q), point_count(q, t)
    ours = sum(c * q**j for j, c in enumerate(primitive_recurrence(q, t)))
    for code in range(1, ours + 1):
        coefficients = [code // q**j % q for j in range(t)]
        residue, period = field.times_x([1] + [0] * (t - 1), coefficients), 1
        while any(residue[1:]) and period <= codes:
            residue, period = field.times_x(residue, coefficients), period + 1
        is_ours = period == codes and bool(residue[0])
        assert is_ours == (code == ours)


@pytest.mark.parametrize("q", [0, 1, 6, 10, 12, 100, 169, 243, 256, 1000, 65_537, 10**30])
def test_orders_without_a_field_here_are_refused(q: int) -> None:
    assert prime_power(q) is None
    with pytest.raises(ParameterError, match="a prime, or a power of one up to 128"):
        finite_field(q)


def test_a_space_has_two_coordinates_at_least() -> None:
    with pytest.raises(ParameterError, match="dimension must be at least 2"):
        difference_set(5, 1)


@pytest.mark.parametrize(("number", "primes"), [(1, []), (2, [2]), (360, [2, 3, 5]), (997, [997])])
def test_prime_factors(number: int, primes: list[int]) -> None:
    assert prime_factors(number) == primes
