"""Numbers: clipped to declared ends, rounded to the nearest step, spelled as decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import Number, parse_domain
from deniable_shared.errors import DomainError, ManifestError

HALVES = Number(Fraction(-1), Fraction(2), Fraction("0.5"))
MINUTES = {"type": "number", "low": "0", "high": "240", "step": "5"}

micros = st.integers(-(10**12), 10**12).map(lambda millionths: Fraction(millionths, 10**6))


@st.composite
def numbers(draw: st.DrawFn) -> Number:
    low, step = draw(micros), Fraction(draw(st.integers(1, 10**7)), 10**6)
    return Number(low, low + draw(st.integers(1, 200)) * step, step)


@given(numbers())
def test_parsing_undoes_to_json(domain: Number) -> None:
    assert parse_domain(domain.to_json()) == domain


@given(numbers(), st.data())
def test_every_label_is_encoded_as_its_place(domain: Number, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, domain.size - 1))
    text = domain.labels[index]
    assert domain.encode(text) == domain.encode(Decimal(text)) == index
    assert domain.encode(domain.value(index)) == index
    assert domain.decode(index) == text


@given(numbers(), micros)
def test_what_is_told_is_no_further_than_half_a_step_once_clipped(
    domain: Number, value: Fraction
) -> None:
    inside = min(max(value, domain.low), domain.high)
    assert abs(domain.value(domain.encode(value)) - inside) <= domain.step / 2


@pytest.mark.parametrize(
    ("value", "index"),
    [
        *((-9, 0), (-1, 0), (-0.76, 0), (-0.75, 1), (0, 2), (0.24, 2), (0.25, 3), (1.75, 6)),
        *((2, 6), (10**300, 6), (1e300, 6), (Fraction(1, 3), 3), (Decimal("-0.5"), 1), ("1.5", 5)),
        *((10**400, 6), (Decimal("-1e999999"), 0), (Decimal("1e-999999"), 2), (Decimal("-0"), 2)),
    ],
)
def test_halves_round_upwards_and_ends_clip(value: object, index: int) -> None:
    assert HALVES.encode(value) == index


class Int64:
    """A whole number that is no int, as numpy's."""

    def __int__(self) -> int:
        return 1


Integral.register(Int64)


def test_whole_numbers_of_other_libraries_are_taken() -> None:
    assert HALVES.encode(Int64()) == HALVES.encode(1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "",
        "one",
        "1e3",
        "1.0000001",
        b"1",
        [1],
        {},
        1j,
        *map(float, ("nan", "inf")),
    ],
    ids=repr,
)
def test_what_is_no_finite_number_is_refused_without_repeating_it(value: object) -> None:
    with pytest.raises(DomainError, match="value must be") as caught:
        HALVES.encode(value)
    assert caught.value.__cause__ is None


def test_decimal_infinities_are_refused() -> None:
    for text in ("NaN", "sNaN", "Infinity"):
        with pytest.raises(DomainError, match="value must be"):
            HALVES.encode(Decimal(text))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_taken_for_the_number_it_is(value: float) -> None:
    steps = (Fraction(value) + 1) * 2
    assert HALVES.encode(value) == min(max(math.floor(steps + Fraction(1, 2)), 0), 6)


def test_a_place_is_of_a_step_and_never_rounded_or_clipped() -> None:
    assert [HALVES.place(value) for value in ("-1", "0.50", 2)] == [0, 3, 6]
    for value in ("0.25", "2.5", -2, 0.7):
        with pytest.raises(DomainError, match=r"value must be one of -1, -0\.5, …, 2$"):
            HALVES.place(value)
    with pytest.raises(DomainError, match=r"value must be one of 0, 1$"):
        Number(Fraction(0), Fraction(1), Fraction(1)).place(2)


def test_people_read_what_is_asked() -> None:
    assert HALVES.topics == ("a number from -1 to 2, to the nearest 0.5",)
    assert HALVES.labels == ("-1", "-0.5", "0", "0.5", "1", "1.5", "2")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"low": 0}, "low must be a decimal text"),
        ({"low": "00"}, "low must be spelled 0, got '00'"),
        ({"high": "240.0"}, "high must be spelled 240"),
        ({"low": "-0"}, "low must be spelled 0"),
        ({"step": "0"}, "step > 0"),
        ({"step": "-5"}, "step > 0"),
        ({"high": "0"}, "low < high"),
        ({"high": "241"}, "whole steps, got 48.2 steps"),
        ({"step": "0.003"}, "1 to 65,535 whole steps, got 80000 steps"),
        ({"step": "1e0"}, "step must be a decimal text"),
        ({"step": "0.0000001"}, "step must be a decimal text"),
        ({"cells": 4}, "no field 'cells'"),
        ({"step": None}, "step must be a decimal text"),
    ],
)
def test_documents_that_break_a_rule_are_refused(change: dict[str, object], reason: str) -> None:
    assert parse_domain(MINUTES).size == 49
    with pytest.raises(ManifestError, match=reason):
        parse_domain(MINUTES | change)


def test_seven_places_are_refused_where_no_text_was_read() -> None:
    with pytest.raises(ManifestError, match="six places"):
        Number(Fraction(0), Fraction(1), Fraction(1, 10**7))
