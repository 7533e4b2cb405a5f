"""Unary encodings: their bits, their limits and their laws. The promise: test_exact_privacy."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.randomness.coins import Coins
from support.doubles.scripted_coins import Scripted
from support.tiers import grid

BOTH = pytest.mark.parametrize("id", ["sue/1", "oue/1"])


def unary(id: str, size: int, epsilon: str = "1") -> Mechanism:
    return build(id, domain_size=size, epsilon=epsilon)


def planes(lanes: str) -> bytes:
    """64 planes of eight lanes each: lane i is 0 where `lanes` has a 1, else 2^64 − 1."""
    return bytes([int(lanes, 2) ^ 0xFF]) * 64


def test_symmetric_bits_are_those_of_a_one_hot_vector() -> None:
    sue, one_hot = unary("sue/1", 4), build("rr/1", domain_size=4, epsilon="1", distance=2)
    for value in range(4):
        assert sue.pmf(value) == one_hot.pmf([int(place == value) for place in range(4)])


def test_only_the_bits_that_a_coin_flips_differ_from_the_choice() -> None:
    assert unary("sue/1", 5).randomize(1, Scripted(planes("00110000"))) == bytes([0b01110000])
    assert unary("sue/1", 5).randomize(1, Scripted(planes("01000000"))) == bytes([0])


@pytest.mark.parametrize(("fair", "stated"), [(0, 0b00110000), (0x80, 0b01110000)])
def test_the_bit_of_the_choice_is_a_fair_coin_read_first(fair: int, stated: int) -> None:
    """For every value of its lane: 1 here, and 0."""
    for lanes in ("01110000", "00110000"):
        stream = bytes([fair]) + planes(lanes)
        assert unary("oue/1", 5).randomize(1, Scripted(stream)) == bytes([stated])


@BOTH
@pytest.mark.parametrize("size", [1, 4097])
def test_sizes_of_less_than_two_and_of_more_than_4096_choices_are_refused(
    id: str, size: int
) -> None:
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 4096\].*hadamard/1"):
        unary(id, size)


@BOTH
@pytest.mark.parametrize("value", [-1, 5, (1, 0, 0, 0, 0), "a"])
def test_what_is_no_index_is_refused_without_being_repeated(id: str, value: object) -> None:
    with pytest.raises(DomainError, match=r"^value must be an index in \[0, 4\]$"):
        unary(id, 5).randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point


@BOTH
def test_another_length_or_padding_is_refused(id: str) -> None:
    for payload, message in ((b"", "1 bytes"), (b"\0\0", "1 bytes"), (b"\4", "3 zero bits")):
        with pytest.raises(DecodeError, match=message):
            unary(id, 5).validate(payload)
    unary(id, 5).validate(b"\xf8")
    unary(id, 8).validate(b"\xff")


@BOTH
@given(st.integers(2, 4096), st.data(), st.binary(min_size=1))
def test_every_payload_and_its_renewal_are_valid(
    id: str, size: int, data: st.DataObject, key: bytes
) -> None:
    mechanism = build(id, domain_size=size, epsilon="1", permanent="2")
    payload = mechanism.memoize(data.draw(st.integers(0, size - 1)), Coins.derive(key))
    renewed = mechanism.rerandomize(payload, Coins.derive(key, payload))
    for sent in (payload, renewed):
        mechanism.validate(sent)
        assert len(sent) == mechanism.payload_size == math.ceil(size / 8)
    label = data.draw(st.integers(0, size - 1))
    bits = f"{int.from_bytes(payload, 'big'):0{8 * len(payload)}b}"
    assert mechanism.supports(payload, label) == (bits[label] == "1")


@BOTH
def test_a_pmf_is_for_up_to_sixteen_choices(id: str) -> None:
    assert sum(unary(id, 10).pmf(9).values()) == 1
    with pytest.raises(ParameterError, match="at most 16 for a pmf, got 17"):
        unary(id, 17).pmf(0)


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "4"], by_default=["1"]))
def test_the_number_of_ones_has_one_law_whatever_is_answered(epsilon: str) -> None:
    """A fair coin and d − 1 coins of q; for sue/1 p and q in the same places."""
    for id in ("oue/1", "sue/1"):
        mechanism = unary(id, 6, epsilon)
        laws = [weights(mechanism, value) for value in mechanism.inputs()]
        assert all(one == other for one, other in pairwise(laws))
        q, mean = mechanism.q, sum(ones * chance for ones, chance in laws[0].items())
        assert mean == mechanism.p + 5 * q
        spread = sum((ones - mean) ** 2 * chance for ones, chance in laws[0].items())
        assert spread == mechanism.p * (1 - mechanism.p) + 5 * q * (1 - q)


def weights(mechanism: Mechanism, value: int | tuple[int, ...]) -> dict[int, Fraction]:
    law: dict[int, Fraction] = defaultdict(Fraction)
    for payload, chance in mechanism.pmf(value).items():
        law[int.from_bytes(payload, "big").bit_count()] += chance
    return law


def test_the_chain_of_oue_is_that_of_the_reference() -> None:
    """L-OSUE(2, 1): p1 = ½, q1 = .1192, and a bit is sent unchanged with .8034."""
    chain = build("oue/1", domain_size=3, epsilon="1", permanent="2")
    answer = unary("oue/1", 3, "2")
    assert answer.p == Fraction(1, 2)
    assert float(answer.q) == pytest.approx(0.11920292202211755, rel=1e-14)
    kept = Fraction(chain.renewal_threshold, 2**64)
    assert float((1 + kept) / 2) == pytest.approx(0.8033880667585181, rel=1e-15)
    assert chain.p == Fraction(1, 2)
    assert abs(chain.q - unary("oue/1", 3).q) < Fraction(1, 2**62)


def test_the_chain_of_sue_is_that_of_the_reference() -> None:
    """L-SUE: p2 = (ps + p1 − 1)/(2 p1 − 1)."""
    chain = build("sue/1", domain_size=3, epsilon="1", permanent="2")
    first, once = (1 / (1 + math.exp(-epsilon / 2)) for epsilon in (2, 1))
    kept = Fraction(chain.renewal_threshold, 2**64)
    assert float((1 + kept) / 2) == pytest.approx((once + first - 1) / (2 * first - 1), rel=1e-14)
    assert abs(chain.p - unary("sue/1", 3).p) < Fraction(1, 2**62)
