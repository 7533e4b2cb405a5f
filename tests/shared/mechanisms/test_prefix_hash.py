"""Prefix hashing: the exact law, what is open and what is not, codes, parameters, vectors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.prefix_hash import HELD_OUT, PrefixHash, best_base, entry
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.doubles.scripted_coins import exact_law
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    EPSILONS,
    SOME,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_renewal_threshold,
    with_threshold,
)
from support.tiers import grid

TEXTS = [tuple(text.encode()) for text in ("a", "b", "ab", "ac", "é")]
SHAPES = [(2, 2, 1, 1), (3, 2, 1, 1), (3, 1, 2, 2), (5, 2, 1, 0)]


def small(epsilon: object, shape: tuple[int, int, int, int] = (3, 2, 1, 1)) -> PrefixHash:
    base, digits, tables, step = shape
    return PrefixHash(2, Fraction(str(epsilon)), base, digits, tables, step)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
def test_no_payload_separates_two_texts_by_more_than_e_to_the_epsilon(
    epsilon: Fraction, shape: tuple[int, int, int, int]
) -> None:
    """The laws of the shipped `randomize`, over all its coins: groups, tables and points too."""
    check_private(laws(small(epsilon, shape), TEXTS), epsilon)


@pytest.mark.parametrize(
    "epsilon", grid([e for e in EPSILONS if e <= 10], by_default=SOME), ids=str
)
def test_some_payload_uses_all_of_epsilon_at_the_largest_threshold(
    epsilon: Fraction,
) -> None:
    mechanism = small(epsilon)
    check_tight(laws(mechanism, TEXTS), epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio(laws(raised, TEXTS)), epsilon)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_randomize_has_exactly_the_law_that_pmf_states(
    shape: tuple[int, int, int, int],
) -> None:
    mechanism = small("1", shape)
    check_follows_pmf(mechanism, TEXTS)
    assert all(sum(mechanism.pmf(text).values()) == 1 for text in TEXTS)


def test_what_is_told_openly_has_one_law_for_all_texts() -> None:
    mechanism = small("2")
    for text in TEXTS:
        law = mechanism.pmf(text)
        shares = [
            sum(law[mechanism._payload(position, result)] for result in range(3))
            for position in range(mechanism.public_outcomes)
        ]
        assert set(shares) == {Fraction(1, mechanism.public_outcomes)}


def test_every_answer_of_one_byte_keeps_epsilon() -> None:
    mechanism = PrefixHash(1, Fraction(1), 2, 2, 1, 1)
    check_private([mechanism.pmf(text) for text in mechanism.inputs()], Fraction(1))


@pytest.mark.parametrize(("base", "digits"), [(2, 3), (3, 2), (5, 2), (7, 1)])
def test_two_codes_have_equal_sums_for_the_same_share_of_the_points(base: int, digits: int) -> None:
    """Hence q = 1/g over uniform codes, equal ones included."""
    mechanism = PrefixHash(1, Fraction(1), base, digits, 1, 0)
    codes = range(mechanism.codes)
    sums = [[dot(mechanism, point, code) for point in range(mechanism.points)] for code in codes]
    equal = {
        sum(a == b for a, b in zip(sums[u], sums[v], strict=True))
        for u, v in product(codes, codes)
        if u != v
    }
    inside = Fraction(mechanism.codes // base - 1, mechanism.codes - 1)
    assert equal == {inside * mechanism.points}
    k = mechanism.codes
    assert Fraction(1, k) + (1 - Fraction(1, k)) * inside == Fraction(1, base)


def dot(mechanism: PrefixHash, point: int, code: int) -> int:
    """<j, code> by the mechanism itself: of a code that is put in the place of a text's."""
    g, m = mechanism.base, mechanism.digits
    vectors = [digits for digits in product(range(g), repeat=m) if first(digits) == 1]
    vectors.sort(key=lambda digits: sum(d * g ** (m - 1 - i) for i, d in enumerate(digits)))
    pairs = zip(vectors[point], (code // g**i % g for i in reversed(range(m))), strict=True)
    total: int = sum(a * b for a, b in pairs)
    return total % g


def first(digits: tuple[int, ...]) -> int:
    return next((digit for digit in digits if digit), 0)


@given(st.integers(0, 10**9), st.binary(min_size=1, max_size=6))
def test_a_payload_holds_the_sum_of_the_prefix_that_its_table_knows(seed: int, text: bytes) -> None:
    mechanism = PrefixHash(6, Fraction(20), 5, 3, 2, 2)
    payload = mechanism.randomize(text, Coins.derive(seed.to_bytes(32, "big")))
    position, result = divmod(int.from_bytes(payload, "big"), 5)
    table, point = divmod(position, mechanism.points)
    group = mechanism.group_of(table)
    assert table in mechanism.tables_of(group)
    code = mechanism.code(table, text[: mechanism.length(group)])
    assert result == dot(mechanism, point, code)  # at ε = 20 a lie comes once in 10^8
    assert mechanism.supports(payload, text) is (None if group else True)


def test_groups_share_out_the_tables_and_three_shares_are_held_out() -> None:
    mechanism = PrefixHash(5, Fraction(1), 3, 2, 4, 2)
    assert [mechanism.length(group) for group in range(mechanism.groups)] == [5, 2, 4, 5]
    tables = [table for group in range(4) for table in mechanism.tables_of(group)]
    assert tables == list(range(mechanism.all_tables)) == list(range((HELD_OUT + 3) * 4))
    assert mechanism.sampling_fraction == Fraction(3, 6)
    assert PrefixHash(5, Fraction(1), 3, 2, 4, 0).sampling_fraction == 1


@pytest.mark.parametrize(
    "epsilon",
    grid(["0.01", "0.3", "0.5", "1", "1.5", "2", "3", "4", "4.8"], by_default=["0.5", "4"]),
)
def test_the_base_is_the_best_prime_and_loses_at_most_3_1_percent(
    epsilon: str,
) -> None:
    e = math.exp(float(epsilon))

    def variance(g: int) -> float:
        return (e + g - 1) ** 2 / ((e - 1) ** 2 * (g - 1))

    primes = [g for g in range(2, 140) if all(g % r for r in range(2, g))]
    base = best_base(Fraction(epsilon))
    assert variance(base) == min(map(variance, primes))
    assert variance(base) <= 1.031 * 4 * e / (e - 1) ** 2


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "2", "4", "20"], by_default=["1", "4"]))
@pytest.mark.parametrize("size", [1, 16, 64])
def test_codes_are_enough_and_a_tally_never_too_large(epsilon: str, size: int) -> None:
    mechanism = build("prefix-hash/1", domain_size=size, epsilon=epsilon)
    assert isinstance(mechanism, PrefixHash)
    assert mechanism.codes * mechanism.tables >= 1 << 16
    assert mechanism.tally_size <= 1 << 23
    assert mechanism.payload_size <= 3


@pytest.mark.slow
def test_every_epsilon_has_a_base_and_tables() -> None:
    for hundredths in range(1, 700, 3):
        mechanism = build("prefix-hash/1", domain_size=16, epsilon=f"{hundredths / 100}")
        assert isinstance(mechanism, PrefixHash)
        assert mechanism.codes * mechanism.tables >= 64 * 29**2
        assert mechanism.tally_size <= 1 << 23


def test_a_renewed_report_costs_epsilon_and_no_more() -> None:
    shape = {"base": 3, "digits": 2, "tables": 1, "step": 1}
    chain = build("prefix-hash/1", domain_size=1, epsilon="1", permanent="2", **shape)
    of = [chain.pmf(text) for text in (b"a", b"b", b"c", b"d")]
    check_private(of, Fraction(1))
    check_tight(of, Fraction(1))
    raised = with_renewal_threshold(chain, chain.renewal_threshold + 1)
    assert not at_most_exp(largest_ratio([raised.pmf(text) for text in (b"a", b"b")]), Fraction(1))
    permanent = chain.memoize(b"a", Coins.derive(b"key" * 11))
    law = exact_law(lambda coins: chain.rerandomize(permanent, coins))
    first_round = build("prefix-hash/1", domain_size=1, epsilon="2", **shape)
    assert isinstance(first_round, PrefixHash)
    assert law == first_round.rerandomized_pmf(permanent, chain.renewal_threshold)


def test_the_public_numbers_of_a_text_are_those_of_every_language() -> None:
    """SHA-256 of "deniable/1 prefix-hash", r in two bytes, i and b in one, its first 8 bytes."""
    assert entry(0, 0, 97) == 0x2C72D78812F4EDB4
    assert entry(300, 5, 255) == 0x52B71FC1B16FB73A
    mechanism = build("prefix-hash/1", domain_size=16, epsilon="2")
    assert mechanism.randomize(b"tea", Coins.derive(bytes(32), b"text")).hex() == "114a4e"


@pytest.mark.parametrize("payload", [b"", bytes(2), bytes(4), b"\xff\xff\xff"])
def test_a_payload_no_device_makes_is_refused(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="payload must"):
        build("prefix-hash/1", domain_size=16, epsilon="2").validate(payload)


@pytest.mark.parametrize("value", [0, b"", b"seventeen bytes!!", "tea"])
def test_what_is_no_encoded_text_is_refused(value: bytes) -> None:
    with pytest.raises(DomainError, match="value must be 1 to 16 bytes"):
        build("prefix-hash/1", domain_size=16, epsilon="2").randomize(value, Coins.system())


@pytest.mark.parametrize(
    ("name", "value"),
    [("base", 4), ("base", 149), ("digits", 9), ("tables", 65), ("step", 3), ("domain_size", 65)],
)
def test_a_parameter_out_of_its_range_is_refused_by_name(name: str, value: int) -> None:
    given: dict[str, int] = {"domain_size": 16, name: value}
    with pytest.raises(ParameterError, match=f"^{name} must"):
        build("prefix-hash/1", domain_size=given.pop("domain_size"), epsilon="2", **given)


def test_a_pmf_of_too_many_payloads_is_refused() -> None:
    with pytest.raises(ParameterError, match="payloads must be at most 65,536"):
        build("prefix-hash/1", domain_size=16, epsilon="2").pmf(b"tea")
