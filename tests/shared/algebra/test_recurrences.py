"""Sequences of full period, grown by blocks, and sums of products in a field."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.algebra.finite_fields import FiniteField, finite_field
from deniable_shared.algebra.inner_products import inner_products, logarithms
from deniable_shared.algebra.recurrences import (
    point_count,
    primitive_recurrence,
    recurrence_sequence,
)
from deniable_shared.errors import ParameterError
from support.tiers import grid, rows

ORDERS = [2, 3, 4, 5, 8, 9, 16, 25, 27, 49, 64, 81, 121, 125, 127, 128, 131, 509, 2039]
SPACES = [(2, 4), (2, 13), (3, 8), (4, 6), (5, 5), (8, 4), (9, 4), (16, 3), (25, 3), (27, 3)]
SPACES += [(49, 3), (81, 3), (113, 3), (125, 3), (127, 3), (128, 3), (131, 3), (1009, 3)]
ONE_OF_EACH_FIELD = [(2, 4), (3, 8), (9, 4), (27, 3), (127, 3), (128, 3)]


def combined(field: FiniteField, factors: tuple[int, ...], elements: list[int]) -> int:
    products = [field.multiply(c, s) for c, s in zip(factors, elements, strict=True) if c]
    return reduce(field.add, products)


@pytest.mark.parametrize(("q", "t"), rows(SPACES, by_default=ONE_OF_EACH_FIELD))
def test_every_term_is_what_the_recurrence_makes_of_those_before(q: int, t: int) -> None:
    """Over many blocks of every length: block after block, and at the ends of the sequence."""
    length = min(point_count(q, t) + t, 40_000)
    terms, field = list(recurrence_sequence(q, t, length)), finite_field(q)
    assert terms[:t] == [*[0] * (t - 1), 1]
    assert len(terms) == length
    step = max(1, length // 4000)
    for i in [*range(min(2000, length - t)), *range(2000, length - t, step), length - t - 1]:
        assert terms[i + t] == combined(field, primitive_recurrence(q, t), terms[i : i + t])


@pytest.mark.parametrize(("q", "t"), [(2, 10), (3, 6), (4, 5), (9, 3), (131, 3)])
def test_after_all_points_the_sequence_goes_on_as_a_multiple_of_itself(q: int, t: int) -> None:
    codes, field = point_count(q, t), finite_field(q)
    terms = list(recurrence_sequence(q, t, codes + t))
    assert terms[codes : codes + t - 1] == [0] * (t - 1)
    factor = terms[codes + t - 1]
    again = [field.multiply(factor, each) for each in terms[:t]]
    assert terms[codes:] == again


@pytest.mark.slow
@pytest.mark.parametrize("q", grid(ORDERS, by_default=[2, 9, 128, 2039]))
@given(data=st.data())
def test_sums_of_products_are_those_of_the_field(q: int, data: st.DataObject) -> None:
    field, products, elements = finite_field(q), inner_products(q), st.integers(0, q - 1)
    size = data.draw(st.integers(0, 40))
    ones, others = (data.draw(st.lists(elements, min_size=size, max_size=size)) for _ in range(2))
    start = data.draw(elements)
    expected = start
    for one, other in zip(ones, others, strict=True):
        expected = field.add(expected, field.multiply(one, other))
    assert products.of(start, products.operands(ones), products.operands(others)) == expected


@pytest.mark.parametrize("q", [2, 3, 9, 121, 128, 509])
def test_sums_of_as_many_products_as_there_may_be_do_not_carry(q: int) -> None:
    field, products = finite_field(q), inner_products(q)
    largest, many = products.operands([q - 1]), 500
    square = field.multiply(q - 1, q - 1)
    expected = reduce(field.add, [square] * many)
    assert products.of(0, largest * many, largest * many) == expected


@pytest.mark.parametrize("q", grid(ORDERS, by_default=[2, 4, 9, 128, 131]))
def test_logarithms_are_those_of_a_generator_and_zero_leads_to_zero(q: int) -> None:
    field = finite_field(q)
    powers, logs = logarithms(field)
    assert sorted(powers[: q - 1]) == list(range(1, q))
    for one in {0, 1, q // 2, q - 1}:
        for other in {0, 1, q // 3, q - 1}:
            assert powers[logs[one] + logs[other]] == field.multiply(one, other)


def test_a_field_that_is_not_here_has_no_sequence() -> None:
    for make in (lambda: recurrence_sequence(6, 3, 9), lambda: inner_products(169)):
        with pytest.raises(ParameterError, match="field order must be a prime"):
            make()
