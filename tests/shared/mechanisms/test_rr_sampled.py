"""Some of the bits: which ones, how many, and how they travel. The promise: test_exact_privacy."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_shared.domains import Bits
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.rr_sampled import SampledResponse, best_sample
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.doubles.scripted_coins import exact_law
from support.oracles.privacy_checks import validated
from support.oracles.vectors import FOLDER, domain_of, value_of

VECTORS = json.loads((FOLDER / "chains.json").read_text())


def sampled(m: int, t: int, epsilon: str = "1") -> SampledResponse:
    mechanism = build("rr-sampled/1", domain_size=m, epsilon=epsilon, sampled=t)
    assert isinstance(mechanism, SampledResponse)
    return mechanism


@pytest.mark.parametrize("vector", VECTORS["rr-sampled/1"], ids=lambda v: v["name"])
def test_payloads_are_the_canonical_ones(vector: dict[str, Any]) -> None:
    domain, parameters = domain_of(vector["domain"]), vector["parameters"]
    mechanism = for_domain(
        "rr-sampled/1", domain, Fraction(vector["epsilon"]), parameters=parameters
    )
    assert isinstance(mechanism, SampledResponse)
    key, labels = bytes.fromhex(VECTORS["key"]), list(map(bytes.fromhex, VECTORS["labels"]))
    value = value_of(vector, domain)
    coins = Coins.derive(key, *labels, domain.canonical(value))  # type: ignore[arg-type]  # a value of this domain
    payload = mechanism.randomize(value, coins, Coins.derive(key, b"public", *labels))
    assert (mechanism.sampled, payload.hex()) == (vector["sampled"], vector["payload"])
    assert f"0x{mechanism.threshold:016x}" == vector["threshold"]


def variance(m: int, t: int, epsilon: float, k: int) -> float:
    """At frequency ½: (m/t)(σ² + ¼), σ² = 1/(4 sinh²(ε/2·min(t, k)))."""
    return m / t * (1 / (4 * math.sinh(epsilon / 2 / min(t, k)) ** 2) + 0.25)


@given(st.integers(1, 60), st.integers(10**4, 20 * 10**6), st.data())
def test_the_number_of_bits_told_is_that_of_least_variance(
    m: int, micro: int, data: st.DataObject
) -> None:
    k, epsilon = data.draw(st.integers(1, m)), Fraction(micro, 10**6)
    variances = {t: variance(m, t, float(epsilon), k) for t in range(1, m + 1)}
    chosen = variances[best_sample(m, epsilon, k)]
    assert chosen <= min(variances.values()) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "t"), [("1", 1), ("4", 2), ("8", 4)])
def test_of_eight_free_bits_as_many_are_told_as_the_reference_says(epsilon: str, t: int) -> None:
    assert best_sample(8, Fraction(epsilon), 8) == t
    assert for_domain("rr-sampled/1", Bits(tuple("abcdefgh")), Fraction(epsilon)) == sampled(
        8, t, epsilon
    )


def test_variances_are_those_of_the_reference() -> None:
    """V without f(1 − f) = ¼ of the people drawn: m = 8, one bit, all bits, the best."""
    seen = [
        f"{variance(8, t, epsilon, 8) - 0.25:.2f}"
        for epsilon, best in ((1, 1), (4, 2), (8, 4))
        for t in (1, 8, best)
    ]
    assert seen == ["9.12", "63.92", "9.12", "1.90", "3.92", "1.47", "1.75", "0.92", "0.61"]


def test_if_at_most_one_bit_is_set_either_one_bit_is_told_or_all() -> None:
    labels = tuple(f"bit {place}" for place in range(20))
    for epsilon in ("0.01", "1", "4", "20"):
        domain = Bits(labels, one_hot=True)
        mechanism = for_domain("rr-sampled/1", domain, Fraction(epsilon))
        assert isinstance(mechanism, SampledResponse)
        assert mechanism.sampled in (1, 2, 20)


@pytest.mark.parametrize(
    ("t", "k", "share"), [(1, 8, 1), (3, 8, 3), (8, 8, 8), (5, 2, 2), (1, 2, 1)]
)
def test_epsilon_is_split_over_the_bits_told_that_can_differ(t: int, k: int, share: int) -> None:
    mechanism = build("rr-sampled/1", domain_size=8, epsilon="4", distance=k, sampled=t)
    assert mechanism.threshold == threshold(Fraction(4, share))


def test_a_chain_tells_as_many_bits_as_its_one_report_would() -> None:
    chain = build("rr-sampled/1", domain_size=8, epsilon="1", permanent="20")
    plain = build("rr-sampled/1", domain_size=8, epsilon="1")
    assert chain.payload_size == plain.payload_size == 1
    assert build("rr-sampled/1", domain_size=8, epsilon="20").payload_size > 1


@pytest.mark.parametrize(("m", "t"), [(1, 1), (4, 1), (4, 2), (4, 4), (5, 3)])
def test_every_set_of_places_is_equally_likely_and_no_value_sways_it(m: int, t: int) -> None:
    mechanism = sampled(m, t)
    share = Fraction(1, math.comb(m, t))
    for value in ((0,) * m, (1,) * m, (1, *[0] * (m - 1))):
        law = exact_law(partial(_places_told, mechanism, value))
        assert law == {bytes(places): share for places in combinations(range(m), t)}


def _places_told(mechanism: SampledResponse, value: tuple[int, ...], coins: Coins) -> bytes:
    return bytes(code >> 1 for code in mechanism.randomize(value, coins))


@given(st.integers(1, 300), st.data())
def test_places_come_from_the_public_coins_and_from_nothing_else(
    m: int, data: st.DataObject
) -> None:
    mechanism = sampled(m, data.draw(st.integers(1, m)))
    one, other = (
        mechanism.randomize([bit] * m, Coins.derive(bytes([bit])), Coins.derive(b"public"))
        for bit in (0, 1)
    )
    assert places_of(mechanism, one) == places_of(mechanism, other)
    assert places_of(mechanism, one) == sorted(set(places_of(mechanism, one)))


def places_of(mechanism: SampledResponse, payload: bytes) -> list[int]:
    width = mechanism.payload_size // mechanism.sampled
    return [
        int.from_bytes(payload[at : at + width], "big") >> 1 for at in range(0, len(payload), width)
    ]


@settings(deadline=None)
@given(st.integers(1, 4096), st.data())
def test_every_randomized_payload_is_valid(m: int, data: st.DataObject) -> None:
    t = data.draw(st.integers(1, min(m, 40)))
    mechanism = sampled(m, t, data.draw(st.sampled_from(["0.01", "20"])))
    payload = mechanism.randomize([data.draw(st.integers(0, 1))] * m, Coins.system())
    mechanism.validate(payload)
    assert len(payload) == mechanism.payload_size == t * (1 if m <= 128 else 2)


def test_a_bit_is_told_as_its_place_twice_and_itself() -> None:
    """At ε = 20 a bit is flipped once in 5·10^8: here all are sent unchanged, except for 1e-7."""
    mechanism = build("rr-sampled/1", domain_size=5, epsilon="20", sampled=1)
    value = (1, 0, 1, 1, 0)
    result = {mechanism.randomize(value, Coins.system())[0] for _ in range(60)}
    assert result <= {2 * place + bit for place, bit in enumerate(value)}


@pytest.mark.slow
@pytest.mark.parametrize(("m", "t"), [(1, 1), (3, 2), (5, 1), (128, 1)])
def test_exactly_the_possible_payloads_are_valid(m: int, t: int) -> None:
    mechanism = sampled(m, t)
    assert mechanism.payload_size == t
    accepted, reasons = validated(mechanism)
    assert accepted == mechanism.pmf((0,) * m).keys()
    assert all("payload must name" in reason for reason in reasons)


@pytest.mark.parametrize("payload", ["", "00", "000000", "0102", "0200", "0001", "00000001"])
def test_payloads_of_two_of_200_bits_that_cannot_be_are_refused(payload: str) -> None:
    mechanism = sampled(200, 2)
    mechanism.validate(bytes.fromhex("0001018f"))
    with pytest.raises(DecodeError, match="payload must"):
        mechanism.validate(bytes.fromhex(payload))


@pytest.mark.slow
def test_pmf_is_for_small_spaces_only() -> None:
    sampled(16, 4).pmf((0,) * 16)
    with pytest.raises(ParameterError, match="at most 65,536 for a pmf, got 4368 sets of 5 bits"):
        sampled(16, 5).pmf((0,) * 16)


@pytest.mark.parametrize("value", [1, True, (), (1,), (1, 0, 1), (0, 2), (0, 0.5), "01"])
def test_values_that_are_not_encoded_are_refused_and_not_repeated(value: object) -> None:
    with pytest.raises(DomainError, match="zeros and ones") as caught:
        sampled(2, 1).randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("t", [0, -1, 4])
def test_a_number_of_bits_out_of_range_is_refused(t: int) -> None:
    with pytest.raises(ParameterError, match=r"sampled must lie in \[1, 3\]"):
        sampled(3, t)
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[1, 4096\], got 0"):
        build("rr-sampled/1", domain_size=0, epsilon="1")
    with pytest.raises(ParameterError, match=r"distance must lie in \[1, 3\], got 4"):
        build("rr-sampled/1", domain_size=3, epsilon="1", distance=4)


def test_what_the_domain_decides_cannot_be_given() -> None:
    with pytest.raises(ParameterError, match="distance follows from the domain"):
        for_domain("rr-sampled/1", Bits(("a", "b")), Fraction(1), parameters={"distance": 1})
    with pytest.raises(ParameterError, match="sampled must be an integer"):
        for_domain("rr-sampled/1", Bits(("a", "b")), Fraction(1), parameters={"sampled": "1"})
    with pytest.raises(ParameterError, match="rr/1 takes distance besides"):
        for_domain("rr/1", Bits(("a", "b")), Fraction(1), parameters={"sampled": 1})


@pytest.mark.parametrize(
    ("distance", "sampled", "spent"),
    [(1, 2, 0), (3, 1, 1), (3, 2, 1), (3, 3, Fraction(2, 3)), (3, 4, Fraction(2, 3)), (2, 4, 1)],
)
def test_an_odd_distance_below_m_may_spend_less_than_epsilon(
    distance: int, sampled: int, spent: Fraction
) -> None:
    """By enumeration over 4 bits: min(t, k − 1)/min(t, k) of ε where k is odd."""
    built = SampledResponse(4, Fraction(1), distance, sampled)
    laws = [built.pmf(bits) for bits in built.inputs()]
    ratio = max(a[result] / b[result] for a in laws for b in laws for result in a)
    assert math.log(ratio) == pytest.approx(float(spent), abs=1e-12)
