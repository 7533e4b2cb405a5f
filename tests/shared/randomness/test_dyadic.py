"""ε in, T out: exact, or refused."""

from __future__ import annotations

import json
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import (
    at_most_exp,
    exp_bounds,
    format_epsilon,
    parse_epsilon,
    threshold,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "dyadic.json").read_text())
SIXTY_DIGITS = Context(prec=60)

epsilons = st.fractions(Fraction(1, 100), 20, max_denominator=10**6)
decimals = st.integers(10**4, 20 * 10**6).map(lambda micro: Fraction(micro, 10**6))


def ratio(t: int, messages: int, favoured: int, bits: int) -> Fraction:
    """How much likelier one favoured message is than one of the others."""
    return Fraction(t * (messages - favoured), favoured * (2**bits - t))


@pytest.mark.parametrize(
    "vector", VECTORS["thresholds"], ids=lambda v: "{epsilon}-{messages}".format(**v)
)
def test_thresholds_are_the_canonical_ones(vector: dict[str, str | int]) -> None:
    t = threshold(
        Fraction(str(vector["epsilon"])),
        alphabet_size=int(vector["messages"]),
        support_size=int(vector["favoured"]),
    )
    assert f"0x{t:016x}" == vector["threshold"]


def test_vectors_hold_those_of_the_reference() -> None:
    known = {
        ("0.25", 2, 1): 10370326036093868670,
        ("0.5", 2, 1): 11482347978973021681,
        ("1", 2, 1): 13485650502877570762,
        ("2", 2, 1): 16247838278329192790,
        ("4", 2, 1): 18114957061682843468,
        ("1", 10, 1): 4279078617824395103,
        ("2", 10, 1): 8316771019665368502,
        ("1", 13, 4): 10092714330851813396,
    }
    vectors = {
        (v["epsilon"], v["messages"], v["favoured"]): int(v["threshold"], 16)
        for v in VECTORS["thresholds"]
    }
    assert known.items() <= vectors.items()


@pytest.mark.parametrize(
    "vector", VECTORS["thresholds"], ids=lambda v: "{epsilon}-{messages}".format(**v)
)
def test_another_arithmetic_finds_the_same_thresholds(vector: dict[str, str | int]) -> None:
    e = SIXTY_DIGITS.exp(Decimal(str(vector["epsilon"])))
    inside = SIXTY_DIGITS.multiply(int(vector["favoured"]), e)
    share = SIXTY_DIGITS.divide(
        inside, SIXTY_DIGITS.add(inside, int(vector["messages"]) - int(vector["favoured"]))
    )
    assert int(SIXTY_DIGITS.multiply(share, 2**64)) == int(str(vector["threshold"]), 16)


@given(epsilons, st.integers(2, 65_536), st.data(), st.sampled_from([1, 8, 64, 256]))
def test_threshold_keeps_epsilon_and_one_more_would_not(
    epsilon: Fraction, messages: int, data: st.DataObject, bits: int
) -> None:
    favoured = data.draw(st.integers(1, messages - 1))
    t = threshold(epsilon, alphabet_size=messages, support_size=favoured, bits=bits)
    assert 0 <= t < 2**bits
    assert at_most_exp(ratio(t, messages, favoured, bits), epsilon)
    above = t + 1 == 2**bits or not at_most_exp(ratio(t + 1, messages, favoured, bits), epsilon)
    assert above


@given(epsilons, st.integers(1, 400))
def test_bounds_enclose_e_to_the_epsilon_and_are_as_close_as_asked(
    epsilon: Fraction, bits: int
) -> None:
    low, high = exp_bounds(epsilon, bits=bits)
    closer_low, closer_high = exp_bounds(epsilon, bits=bits + 200)
    assert low < closer_high
    assert closer_low < high
    assert high - low <= low / 2**bits


@given(decimals, st.integers(1, 150))
def test_bounds_agree_with_another_arithmetic(epsilon: Fraction, bits: int) -> None:
    exact = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    e = Fraction(SIXTY_DIGITS.exp(exact))  # the last of 60 digits may be off by half
    low, high = exp_bounds(epsilon, bits=bits)
    slack = e / 10**59
    assert low - slack < e < high + slack


@given(epsilons, st.integers(70, 3000))
def test_ratios_a_hair_from_e_to_the_epsilon_are_decided(epsilon: Fraction, bits: int) -> None:
    low, high = exp_bounds(epsilon, bits=bits)
    assert at_most_exp(low, epsilon)
    assert not at_most_exp(high, epsilon)


def test_at_epsilon_zero_only_ratios_up_to_one_are_within() -> None:
    assert at_most_exp(Fraction(1), Fraction(0))
    assert not at_most_exp(Fraction(2**80 + 1, 2**80), Fraction(0))


def test_precision_doubles_until_the_floor_is_certain() -> None:
    """e^x = 3 − tiny makes 2^2·E/(E + 1) fall just below 3: 128 bits cannot tell, more can."""
    ln_3, tiny = Fraction(str(Context(prec=120).ln(3))), Fraction(1, 10**100)
    assert threshold(ln_3 - tiny, bits=2) == 2
    assert threshold(ln_3 + tiny, bits=2) == 3


@pytest.mark.parametrize("text", ["0.01", "1", "0.5", "20", "19.999999", "2.500000", "01", "00.5"])
def test_decimal_texts_are_read_exactly(text: str) -> None:
    assert parse_epsilon(text) == Fraction(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1e5000000", "1e1", "inf", "nan", "-1", "+1", " 1", "1 ", "1\n", "1.", ".5", "100"),
        *("1/2", "0.0000001", "1_0", "٣", "1,5", "0x1", "9" * 1_000_000),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_texts_of_another_form_are_refused_before_anything_is_computed(text: str) -> None:
    with pytest.raises(ParameterError, match="epsilon must be a decimal like"):
        parse_epsilon(text)


@pytest.mark.parametrize("value", [0.5, Decimal("0.5"), True, None, b"1", 1j])
def test_other_types_are_refused_with_the_cure(value: object) -> None:
    with pytest.raises(ParameterError, match="write it as a string"):
        parse_epsilon(value)  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("value", ["0", "0.009999", "20.000001", 0, 21, -1, Fraction(1, 101)])
def test_epsilon_out_of_range_is_refused(value: str | int | Fraction) -> None:
    with pytest.raises(ParameterError, match=r"epsilon must lie in \[0.01, 20\], got"):
        parse_epsilon(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_too_long_to_print_are_refused_like_any_other(sign: int) -> None:
    with pytest.raises(ParameterError, match="got a number of very many digits"):
        parse_epsilon(sign * 10**10_000)


def test_the_range_and_the_name_of_the_argument_are_the_callers() -> None:
    assert parse_epsilon("40", low=Fraction(0), high=Fraction(100)) == 40
    with pytest.raises(ParameterError, match=r"lifetime must lie in \[1, 8\], got 9"):
        parse_epsilon(9, argument="lifetime", low=Fraction(1), high=Fraction(8))


@given(st.integers(0, 10**9).map(lambda micro: Fraction(micro, 10**6)))
def test_formatting_gives_the_shortest_text_of_the_same_number(epsilon: Fraction) -> None:
    text = format_epsilon(epsilon)
    assert Fraction(text) == epsilon
    assert "." not in text or not text.endswith(("0", "."))


@given(decimals)
def test_parsing_undoes_formatting(epsilon: Fraction) -> None:
    assert parse_epsilon(format_epsilon(epsilon)) == epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(-1), Fraction(1, 10**7)])
def test_numbers_that_six_decimals_cannot_hold_are_not_formatted(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="at most six decimals"):
        format_epsilon(epsilon)


@pytest.mark.parametrize("favoured", [0, 2, -1])
def test_favoured_messages_must_be_some_but_not_all(favoured: int) -> None:
    with pytest.raises(ParameterError, match=r"support_size must lie in \[1, 1\]"):
        threshold(Fraction(1), support_size=favoured)


def test_bounds_need_a_positive_epsilon_and_some_bits() -> None:
    with pytest.raises(ParameterError, match="epsilon must be positive"):
        exp_bounds(Fraction(0), bits=8)
    with pytest.raises(ParameterError, match="bits must be at least 1"):
        exp_bounds(Fraction(1), bits=0)
