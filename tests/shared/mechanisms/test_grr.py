"""Choices: payload, validation, extremes. The promise itself: test_exact_privacy."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.domains import Choice, parse_domain
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import validated
from support.tiers import grid

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "payloads.json").read_text())
TRUTHFUL, OTHER = bytes(8), b"\xff" * 8


@pytest.mark.parametrize("vector", VECTORS["grr/1"], ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, str | list[str]]) -> None:
    domain = parse_domain(vector["domain"])
    assert isinstance(domain, Choice)
    mechanism = for_domain("grr/1", domain, Fraction(str(vector["epsilon"])))
    value = domain.encode(vector["value"])
    labels = [bytes.fromhex(label) for label in vector["labels"]]
    coins = Coins.derive(bytes.fromhex(str(vector["key"])), *labels, domain.canonical(value))
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]
    assert mechanism.randomize(value, coins).hex() == vector["payload"]


@given(st.integers(2, 65_536), st.data())
def test_truth_is_its_index_and_the_others_are_all_indices_but_it(
    d: int, data: st.DataObject
) -> None:
    value = data.draw(st.integers(0, d - 1))
    other = data.draw(st.integers(0, d - 2))
    mechanism = build("grr/1", domain_size=d, epsilon="1")
    width = (d - 2).bit_length()
    drawn = (other << -width % 8).to_bytes((width + 7) // 8, "big")
    result = int.from_bytes(mechanism.randomize(value, Scripted(TRUTHFUL + drawn)), "big")
    lied = int.from_bytes(mechanism.randomize(value, Scripted(OTHER + drawn)), "big")
    assert result == value
    assert lied == (other if other < value else other + 1)


@given(st.sampled_from([2, 3, 10, 255, 256, 257, 300]), st.data())
def test_truth_and_lie_read_the_same_coins(d: int, data: st.DataObject) -> None:
    mechanism = build("grr/1", domain_size=d, epsilon="1")
    drawn = data.draw(st.binary(min_size=64, max_size=64)) + bytes(2)
    values = data.draw(st.lists(st.integers(0, d - 1), min_size=2, max_size=2))
    runs = [Scripted(first + drawn) for first in (TRUTHFUL, OTHER) for _ in values]
    for value, coins in zip(values * 2, runs, strict=True):
        mechanism.randomize(value, coins)
    assert len({len(coins.rest) for coins in runs}) == 1


@pytest.mark.parametrize(
    ("d", "size"), [(2, 1), (3, 1), (256, 1), (257, 2), (1000, 2), (65_536, 2)]
)
def test_exactly_the_indices_are_valid_payloads(d: int, size: int) -> None:
    mechanism = build("grr/1", domain_size=d, epsilon="1")
    assert (mechanism.payload_size, mechanism.tally_size) == (size, d)
    accepted, reasons = validated(mechanism)
    assert accepted == {index.to_bytes(size, "big") for index in range(d)}
    assert all(f"payload must hold a number in [0, {d - 1}]" in reason for reason in reasons)


@given(st.integers(2, 65_536), st.binary(max_size=4))
def test_payloads_that_are_no_index_are_refused(d: int, payload: bytes) -> None:
    mechanism = build("grr/1", domain_size=d, epsilon="1")
    if len(payload) == mechanism.payload_size and int.from_bytes(payload, "big") < d:
        mechanism.validate(payload)
    else:
        with pytest.raises(DecodeError, match="payload must"):
            mechanism.validate(payload)


@given(st.integers(2, 65_536), st.data())
def test_every_randomized_payload_is_valid(d: int, data: st.DataObject) -> None:
    mechanism = build("grr/1", domain_size=d, epsilon=data.draw(st.sampled_from(["0.01", "20"])))
    mechanism.validate(mechanism.randomize(data.draw(st.integers(0, d - 1)), Coins.system()))


def test_two_choices_are_warners_randomized_response() -> None:
    two, bit = (build(id, domain_size=n, epsilon="1") for id, n in (("grr/1", 2), ("rr/1", 1)))
    assert (two.p, two.q, two.threshold) == (bit.p, bit.q, bit.threshold)


@pytest.mark.parametrize("d", grid([2, 10, 65_536], by_default=[2, 10]))
def test_p_and_all_q_add_up_to_one_and_come_from_the_certified_threshold(d: int) -> None:
    mechanism = build("grr/1", domain_size=d, epsilon="0.5")
    assert mechanism.threshold == threshold(Fraction(1, 2), alphabet_size=d)
    assert mechanism.p + (d - 1) * mechanism.q == 1
    assert len(mechanism.pmf(0)) == d


def test_the_least_epsilon_is_almost_uniform_and_the_largest_almost_true() -> None:
    small, large = (build("grr/1", domain_size=10, epsilon=e) for e in ("0.01", "20"))
    assert Fraction(1, 100) < small.p / small.q - 1 < Fraction(101, 10_000)
    assert 1 - large.p < Fraction(2, 10**8)


@pytest.mark.parametrize("value", [-1, 3, 10**30, (1,), "1", None, 1.0])
def test_values_that_are_no_index_are_refused_and_not_repeated(value: object) -> None:
    mechanism = build("grr/1", domain_size=3, epsilon="1")
    with pytest.raises(DomainError, match=r"value must be an index in \[0, 2\]$"):
        mechanism.randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(DomainError):
        mechanism.pmf(value)  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("d", [1, 0, -1, 65_537])
def test_number_of_choices_out_of_range_is_refused(d: int) -> None:
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 65536\]"):
        build("grr/1", domain_size=d, epsilon="1")


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(21), 1.0])
def test_a_mechanism_cannot_be_made_with_an_epsilon_that_is_not_allowed(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="epsilon must"):
        GeneralizedResponse(2, epsilon)
