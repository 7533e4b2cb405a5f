"""Hadamard response: its coefficients, its limits and its law. The promise: test_exact_privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.randomness.coins import Coins
from support.doubles.scripted_coins import Scripted, exact_law
from support.tiers import grid


def hadamard(size: int, epsilon: str = "1") -> HadamardResponse:
    mechanism = build("hadamard/1", domain_size=size, epsilon=epsilon)
    assert isinstance(mechanism, HadamardResponse)
    return mechanism


def sylvester(codes: int) -> list[list[int]]:
    """The Hadamard matrix by its own definition: H(2K) = [[H, H], [H, −H]]."""
    matrix = [[1]]
    while len(matrix) < codes:
        matrix = [row + row for row in matrix] + [row + [-x for x in row] for row in matrix]
    return matrix


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_supports_are_the_rows_of_the_hadamard_matrix_but_the_first(size: int) -> None:
    mechanism = hadamard(size)
    matrix = sylvester(mechanism.codes)
    for payload in mechanism.pmf(0):
        row, result = matrix[1 + payload[0] // 2], 1 - 2 * (payload[0] % 2)
        supported = [mechanism.supports(payload, label) for label in range(size)]
        assert supported == [row[label] == result for label in range(size)]


@pytest.mark.parametrize(
    ("size", "codes", "bytes_"),
    [(2, 2, 1), (3, 4, 1), (128, 128, 1), (129, 256, 2), (32_768, 32_768, 2), (65_536, 65_536, 3)],
)
def test_the_number_of_codes_is_the_next_power_of_two(size: int, codes: int, bytes_: int) -> None:
    mechanism = hadamard(size)
    assert (mechanism.codes, mechanism.payload_size) == (codes, bytes_)
    assert mechanism.tally_size == 2 * mechanism.public_outcomes == 2 * (codes - 1)


def test_the_coefficient_is_tossed_without_the_value_and_the_bit_with_it() -> None:
    """7 of 8 codes are asked for: 0b101 is j = 6; 64 zero bits tell the truth, ones do not."""
    for bits, result in ((bytes(8), 0), (b"\xff" * 8, 1)):
        payload = hadamard(8).randomize(6, Scripted(bits), Scripted(bytes([0b101_00000])))
        assert payload == bytes([2 * 5 + result])


def test_the_coefficient_has_one_law_whatever_is_answered() -> None:
    mechanism = hadamard(5)
    for value in range(5):
        law = exact_law(lambda coins, value=value: mechanism.randomize(value, coins))  # type: ignore[misc]  # mypy infers no lambda with a default
        for j in range(7):
            assert law[bytes([2 * j])] + law[bytes([2 * j + 1])] == Fraction(1, 7)


@pytest.mark.parametrize("epsilon", grid(["0.25", "1", "4"], by_default=["1"]))
@pytest.mark.parametrize("size", [2, 3, 16, 100])
def test_p_and_q_give_the_score_that_skips_the_constant_coefficient(
    size: int, epsilon: str
) -> None:
    """(K − 1)/K·coth(ε/2)·b·H[j,v] + 1/K for b·H[j,v] = 1 and −1."""
    mechanism, k = hadamard(size, epsilon), hadamard(size).codes
    coth, gap = 1 / math.tanh(float(epsilon) / 2), float(mechanism.p - mechanism.q)
    for supported, sign in ((1, 1), (0, -1)):
        score = (supported - float(mechanism.q)) / gap
        assert score == pytest.approx((k - 1) / k * coth * sign + 1 / k, rel=1e-12)


def test_skipping_it_has_the_smaller_error_the_reference_says() -> None:
    """Total L2 27.4 in place of 49.0 at d = 3, ε = ½, given who answered."""
    mechanism = hadamard(3, "0.5")
    p, q = mechanism.p, mechanism.q
    total = (p * (1 - p) + 2 * q * (1 - q)) / (p - q) ** 2
    assert float(total) == pytest.approx(27.4, abs=0.05)
    half = Fraction(1, 2)
    other = (p * (1 - p) + 2 * half * half) / (p - half) ** 2
    assert float(other) == pytest.approx(49.0, abs=0.05)


@pytest.mark.parametrize("size", [1, 65_537])
def test_sizes_outside_those_of_a_choice_are_refused(size: int) -> None:
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 65536\]"):
        hadamard(size)


@pytest.mark.parametrize("value", [-1, 5, (1, 0, 0, 0, 0)])
def test_what_is_no_index_is_refused_without_being_repeated(value: int) -> None:
    with pytest.raises(DomainError, match=r"^value must be an index in \[0, 4\]$"):
        hadamard(5).randomize(value, Coins.system())


def test_another_length_or_coefficient_is_refused() -> None:
    with pytest.raises(DecodeError, match="payload must be 1 bytes, got 2"):
        hadamard(5).validate(b"\0\0")
    with pytest.raises(DecodeError, match=r"payload must hold a number in \[0, 13\]"):
        hadamard(5).validate(b"\x0e")
    hadamard(5).validate(b"\x0d")


@given(st.integers(2, 65_536), st.data(), st.binary(min_size=1))
def test_every_payload_is_valid_and_a_renewal_keeps_its_coefficient(
    size: int, data: st.DataObject, key: bytes
) -> None:
    chain = build("hadamard/1", domain_size=size, epsilon="1", permanent="2")
    answer = chain.memoize(data.draw(st.integers(0, size - 1)), Coins.derive(key))
    renewed = chain.rerandomize(answer, Coins.derive(key, answer))
    chain.validate(answer)
    chain.validate(renewed)
    assert answer[:-1] == renewed[:-1]
    assert answer[-1] >> 1 == renewed[-1] >> 1


def test_a_pmf_is_for_up_to_32768_choices() -> None:
    assert sum(hadamard(600).pmf(599).values()) == 1
    with pytest.raises(ParameterError, match="at most 65,536 for a pmf, got 131,070"):
        hadamard(32_769).pmf(0)
