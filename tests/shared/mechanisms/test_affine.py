"""Affine thresholds: the design, payload, draws, extremes. The promise: test_exact_privacy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.analysis.optimal_error import design_error, total_error
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.affine import AffineResponse, prime_from
from deniable_shared.randomness.coins import Coins
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import check_follows_pmf, check_private, check_tight, laws
from support.tiers import grid, rows

TRUTHFUL, OTHER = bytes(8), b"\xff" * 8
PRIMES = [3, 5, 7, 11, 13]


def affine(d: int, epsilon: str = "1", **pinned: int) -> AffineResponse:
    mechanism = build("affine/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, AffineResponse)
    return mechanism


def support(mechanism: AffineResponse, payload: bytes) -> frozenset[int]:
    return frozenset(v for v in range(mechanism.modulus) if mechanism.supports(payload, v))


@pytest.mark.parametrize("modulus", PRIMES)
def test_messages_are_a_design_of_codes_and_pairs(
    modulus: int,
) -> None:
    for size in range(1, modulus):
        mechanism = affine(modulus, modulus=modulus, subset_size=size)
        sets = [support(mechanism, payload) for payload in mechanism.pmf(0)]
        assert len(sets) == mechanism.alphabet_size == modulus * (modulus - 1) // 2
        assert {len(each) for each in sets} == {size}
        one = Counter(v for each in sets for v in each)
        assert set(one.values()) == {mechanism.support_size}
        pairs = Counter(pair for each in sets for pair in permutations(each, 2))
        assert len(set(pairs.values())) <= 1
        assert len(pairs) == (modulus * (modulus - 1) if size > 1 else 0)


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "4"], by_default=["1"]))
@pytest.mark.parametrize(
    ("d", "modulus"),
    rows(
        [(2, 3), (3, 3), (4, 5), (4, 7), (5, 5), (7, 7)],
        by_default=[(2, 3), (3, 3), (4, 7), (5, 5)],
    ),
)
def test_every_size_of_set_keeps_epsilon_and_uses_it(d: int, modulus: int, epsilon: str) -> None:
    for size in range(1, modulus):
        mechanism = affine(d, epsilon, modulus=modulus, subset_size=size)
        of = laws(mechanism, mechanism.inputs())
        check_private(of, Fraction(epsilon))
        check_tight(of, Fraction(epsilon))
        check_follows_pmf(mechanism, mechanism.inputs())


@pytest.mark.parametrize("d", [4, 7, 10])
def test_unused_codes_are_supported_like_any_other_untrue_one(d: int) -> None:
    mechanism = affine(d)
    for value in range(d):
        law = mechanism.pmf(value)
        for code in set(range(mechanism.modulus)) - {value}:
            held = sum(law[payload] for payload in law if mechanism.supports(payload, code))
            assert held == mechanism.q


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "4"], by_default=["0.5", "4"]))
@pytest.mark.parametrize("d", grid([2, 4, 5, 9], by_default=[2, 5]))
def test_total_error_by_enumeration_is_that_of_the_formula(d: int, epsilon: str) -> None:
    """n times Σ_v Var of (1[v ∈ S] − q)/(p − q) over all messages, for every true choice."""
    mechanism = affine(d, epsilon)
    p, q = mechanism.p, mechanism.q
    e_eff = p * (mechanism.modulus - mechanism.subset_size) / (mechanism.subset_size * (1 - p))
    for value in range(d):
        law, total = mechanism.pmf(value), Fraction()
        for label in range(d):
            scores = {y: (mechanism.supports(y, label) - q) / (p - q) for y in law}
            mean = sum((law[y] * score for y, score in scores.items()), Fraction())
            assert mean == (label == value)
            total += sum(law[y] * (score - mean) ** 2 for y, score in scores.items())
        assert total == total_error(p, q, d)
        assert total == design_error(d, mechanism.modulus, mechanism.subset_size, e_eff)


@pytest.mark.parametrize(
    ("d", "modulus", "bytes_"),
    [
        (2, 3, 1),
        (3, 3, 1),
        (4, 5, 1),
        (23, 23, 1),
        (24, 29, 2),
        (257, 257, 2),
        (1000, 1009, 3),
        (65_521, 65_521, 4),
        (65_536, 65_537, 4),
        (1_000_000, 1_000_003, 5),
    ],
)
def test_the_modulus_is_the_next_odd_prime_and_a_message_has_few_bytes(
    d: int, modulus: int, bytes_: int
) -> None:
    mechanism = affine(d)
    assert (mechanism.modulus, mechanism.payload_size) == (modulus, bytes_)
    assert mechanism.tally_size == modulus
    assert mechanism.alphabet_size <= 256**bytes_


def test_primes_are_those_of_the_sieve() -> None:
    sieve = [n for n in range(3, 2000) if all(n % k for k in range(2, n))]
    for least in range(2, 1990):
        assert prime_from(least) == next(n for n in sieve if n >= least)


@given(st.integers(2, 10**6), st.data())
def test_coins_say_which_message_and_whether_it_holds_the_value(
    d: int, data: st.DataObject
) -> None:
    mechanism = affine(d, data.draw(st.sampled_from(["0.5", "1", "4"])))
    value, rest = data.draw(st.integers(0, d - 1)), Coins.derive(data.draw(st.binary())).bytes(400)
    left, k = set(), mechanism.modulus
    for coin, holds in ((TRUTHFUL, True), (OTHER, False)):
        coins = Scripted(coin + rest)
        message = int.from_bytes(mechanism.randomize(value, coins), "big")
        left.add(len(coins.rest))
        replayed = Scripted(rest)
        c, near = 1 + replayed.below(k // 2), replayed.below(mechanism.subset_size)
        far = mechanism.subset_size + replayed.below(k - mechanism.subset_size)
        assert (c * value + message % k) % k == (near if holds else far)
        assert message // k == c - 1
    assert left == {len(replayed.rest)}


@pytest.mark.parametrize("d", [2, 4, 8, 20, 23])
def test_exactly_the_messages_are_valid(d: int) -> None:
    mechanism = affine(d)
    assert mechanism.payload_size == 1
    for number in range(256):
        if number < mechanism.alphabet_size:
            mechanism.validate(bytes([number]))
        else:
            with pytest.raises(DecodeError, match="payload must hold a number in"):
                mechanism.validate(bytes([number]))


@given(st.integers(2, 10**6), st.binary(max_size=6))
def test_payloads_that_are_no_message_are_refused(d: int, payload: bytes) -> None:
    mechanism = affine(d)
    if (
        len(payload) == mechanism.payload_size
        and int.from_bytes(payload, "big") < mechanism.alphabet_size
    ):
        mechanism.validate(payload)
    else:
        with pytest.raises(DecodeError, match="payload must"):
            mechanism.validate(payload)


@given(st.integers(2, 10**6), st.data())
def test_every_randomized_payload_is_valid(d: int, data: st.DataObject) -> None:
    mechanism = affine(d, data.draw(st.sampled_from(["0.01", "1", "20"])))
    mechanism.validate(mechanism.randomize(data.draw(st.integers(0, d - 1)), Coins.system()))


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "20"], by_default=["1"]))
@pytest.mark.parametrize("d", [3, 7, 101])
def test_for_a_prime_number_of_choices_p_and_q_are_those_of_subsets(d: int, epsilon: str) -> None:
    subset = build("subset/1", domain_size=d, epsilon=epsilon)
    mechanism = affine(d, epsilon)
    assert (mechanism.p, mechanism.q) == (subset.p, subset.q)


@pytest.mark.parametrize("value", [-1, 4, 5, 10**30, (1,), "1", None, 1.0])
def test_values_that_are_no_choice_are_refused_even_where_they_are_a_code(value: object) -> None:
    with pytest.raises(DomainError, match=r"value must be an index in \[0, 3\]$"):
        affine(4).randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(DomainError):
        affine(4).pmf(value)  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("modulus", [0, -7, 2, 3, 4, 6, 9, 11, 10**30])
def test_a_modulus_that_is_no_odd_prime_near_the_domain_is_refused(modulus: int) -> None:
    with pytest.raises(ParameterError, match=r"modulus must be an odd prime in \[5, 10\]"):
        affine(5, modulus=modulus)


def test_sizes_out_of_range_are_refused() -> None:
    for size in (0, 5, -1):
        with pytest.raises(ParameterError, match=r"subset_size must lie in \[1, 4\]"):
            affine(5, subset_size=size)
    for d in (1, 0, 1_000_001):
        with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 1000000\]"):
            affine(d)


def test_a_law_of_too_many_messages_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most 65,536 for a pmf, got 67,161"):
        affine(360, modulus=367).pmf(0)
