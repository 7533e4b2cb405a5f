"""Bit vectors: payload, validation, where ε goes. The promise itself: test_exact_privacy."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import Bits, pack, parse_domain
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.rr import BitwiseResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import validated

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "payloads.json").read_text())
ALL_TRUE, ALL_FLIPPED = bytes([255]), bytes(1)


@pytest.mark.parametrize("vector", VECTORS["rr/1"], ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, str | list[int]]) -> None:
    domain = parse_domain(vector["domain"])
    assert isinstance(domain, Bits)
    mechanism = for_domain("rr/1", domain, Fraction(str(vector["epsilon"])))
    value = domain.encode(vector["value"])
    labels = [bytes.fromhex(str(label)) for label in vector["labels"]]
    coins = Coins.derive(bytes.fromhex(str(vector["key"])), *labels, domain.canonical(value))
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert mechanism.randomize(value, coins).hex() == vector["payload"]


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_bits_are_sent_most_significant_first_with_zero_padding(bits: list[int]) -> None:
    mechanism = build("rr/1", domain_size=len(bits), epsilon="1")
    size = mechanism.payload_size
    result = mechanism.randomize(bits, Scripted(ALL_TRUE * 64 * size))
    flipped = mechanism.randomize(bits, Scripted(ALL_FLIPPED * 64 * size))
    digits = "".join(map(str, bits)).ljust(8 * size, "0")
    opposite = "".join(str(1 - bit) for bit in bits).ljust(8 * size, "0")
    assert result == int(digits, 2).to_bytes(size, "big")
    assert flipped == int(opposite, 2).to_bytes(size, "big")


@pytest.mark.parametrize("m", [1, 3, 8, 9, 16])
def test_exactly_the_possible_payloads_are_valid(m: int) -> None:
    mechanism = build("rr/1", domain_size=m, epsilon="1")
    accepted, reasons = validated(mechanism)
    assert accepted == mechanism.pmf((0,) * m).keys()
    padding = 8 * mechanism.payload_size - m
    assert all(f"payload must end in {padding} zero bits" in reason for reason in reasons)


@given(st.integers(1, 40), st.binary(max_size=7))
def test_payloads_of_another_length_or_padding_are_refused(m: int, payload: bytes) -> None:
    mechanism = build("rr/1", domain_size=m, epsilon="1")
    padding = 8 * mechanism.payload_size - m
    if len(payload) == mechanism.payload_size and int.from_bytes(payload, "big") % 2**padding == 0:
        mechanism.validate(payload)
    else:
        with pytest.raises(DecodeError, match="payload must"):
            mechanism.validate(payload)


@given(st.integers(1, 4096), st.data())
def test_every_randomized_payload_is_valid(m: int, data: st.DataObject) -> None:
    mechanism = build("rr/1", domain_size=m, epsilon=data.draw(st.sampled_from(["0.01", "20"])))
    payload = mechanism.randomize([data.draw(st.integers(0, 1))] * m, Coins.system())
    mechanism.validate(payload)
    assert len(payload) == mechanism.payload_size


def test_epsilon_is_split_over_the_places_where_two_vectors_differ() -> None:
    labels = tuple("abcdefgh")
    for domain, k in [
        (Bits(labels), 8),
        (Bits(labels, one_hot=True), 2),
        (Bits(labels, at_most=1), 2),
        (Bits(labels, at_most=3), 6),
        (Bits(labels, at_most=7), 8),
        (Bits(("a",)), 1),
        (Bits(("a",), at_most=1), 1),
    ]:
        mechanism = for_domain("rr/1", domain, Fraction(4))
        assert mechanism.threshold == threshold(Fraction(4, k))
        assert mechanism.epsilon == 4


def test_one_bit_at_epsilon_ln_3_is_true_three_times_in_four() -> None:
    below, above = (build("rr/1", domain_size=1, epsilon=e).p for e in ("1.098612", "1.098613"))
    assert below < Fraction(3, 4) < above


def test_the_least_epsilon_is_almost_a_fair_coin_and_the_largest_true() -> None:
    assert 0 < build("rr/1", domain_size=1, epsilon="0.01").p - Fraction(1, 2) < Fraction(1, 399)
    assert Fraction(2, 10**9) < build("rr/1", domain_size=1, epsilon="20").q < Fraction(3, 10**9)


def test_sizes_follow_from_the_number_of_bits() -> None:
    mechanism = build("rr/1", domain_size=9, epsilon="1")
    assert (mechanism.payload_size, mechanism.tally_size, mechanism.domain_size) == (2, 9, 9)
    assert mechanism.p + mechanism.q == 1


@pytest.mark.parametrize(
    "value",
    [1, 0, True, (), (1,), (1, 0, 1), (0, 2), (0, -1), (0, 256), (0, 0.5), ("0", "1"), "01"],
)
def test_values_that_are_not_encoded_are_refused_and_not_repeated(value: object) -> None:
    with pytest.raises(DomainError, match="zeros and ones") as caught:
        build("rr/1", domain_size=2, epsilon="1").randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("m", [0, -1, 4097])
def test_number_of_bits_out_of_range_is_refused(m: int) -> None:
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[1, 4096\]"):
        build("rr/1", domain_size=m, epsilon="1")


@pytest.mark.parametrize("distance", [0, -1, 4])
def test_distance_out_of_range_is_refused(distance: int) -> None:
    with pytest.raises(ParameterError, match=r"distance must lie in \[1, 3\]"):
        build("rr/1", domain_size=3, epsilon="1", distance=distance)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(21), 1.0])
def test_a_mechanism_cannot_be_made_with_an_epsilon_that_is_not_allowed(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="epsilon must"):
        BitwiseResponse(1, epsilon, 1)


@pytest.mark.parametrize(
    ("m", "distance", "inputs", "spent"),
    [(3, 1, 1, Fraction(0)), (4, 2, 5, Fraction(1)), (4, 3, 5, Fraction(2, 3)), (3, 3, 8, 1)],
)
def test_an_odd_distance_below_m_spends_less_than_epsilon(
    m: int, distance: int, inputs: int, spent: Fraction
) -> None:
    """By enumeration: inputs of at most ⌊k/2⌋ ones differ in an even number of places."""
    built = BitwiseResponse(m, Fraction(1), distance)
    laws = [built.pmf(bits) for bits in built.inputs()]
    ratio = max(a[result] / b[result] for a in laws for b in laws for result in a)
    assert len(laws) == inputs
    assert math.log(ratio) == pytest.approx(float(spent), abs=1e-12)


def test_pmf_is_for_small_vectors_only() -> None:
    with pytest.raises(ParameterError, match="at most 16 for a pmf, got 17"):
        build("rr/1", domain_size=17, epsilon="1").pmf((0,) * 17)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=100))
def test_packing_is_reading_the_bits_as_a_binary_number(bits: list[int]) -> None:
    assert pack(bits) == int("".join(map(str, bits)), 2)
