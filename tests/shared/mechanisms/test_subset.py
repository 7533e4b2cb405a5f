"""Subset selection: payload, sampling, extremes. The promise itself: test_exact_privacy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold
from support.doubles.scripted_coins import Scripted
from support.oracles.privacy_checks import (
    check_follows_pmf,
    check_private,
    check_tight,
    laws,
    validated,
)
from support.tiers import grid, rows

TRUTHFUL, OTHER = bytes(8), b"\xff" * 8


def subset(d: int, epsilon: str = "1", size: int | None = None) -> SubsetResponse:
    pinned = {} if size is None else {"subset_size": size}
    mechanism = build("subset/1", domain_size=d, epsilon=epsilon, permanent=None, **pinned)
    assert isinstance(mechanism, SubsetResponse)
    return mechanism


def members(mechanism: SubsetResponse, payload: bytes) -> set[int]:
    return {v for v in range(mechanism.domain_size) if mechanism.supports(payload, v)}


@given(st.integers(2, 300), st.data())
def test_every_answer_is_a_set_of_w_with_or_without_the_value(d: int, data: st.DataObject) -> None:
    mechanism = subset(d, size=data.draw(st.integers(1, d - 1)))
    value, rest = data.draw(st.integers(0, d - 1)), Coins.derive(data.draw(st.binary())).bytes(9000)
    result, lied = (
        members(mechanism, mechanism.randomize(value, Scripted(coin + rest)))
        for coin in (TRUTHFUL, OTHER)
    )
    assert len(result) == len(lied) == mechanism.subset_size
    assert (value in result, value in lied) == (True, False)


@given(st.integers(2, 300), st.data())
def test_truth_and_lie_of_any_value_read_the_same_coins(d: int, data: st.DataObject) -> None:
    mechanism = subset(d, size=data.draw(st.integers(1, d - 1)))
    rest = Coins.derive(data.draw(st.binary())).bytes(9000)
    left = set()
    for value in data.draw(st.lists(st.integers(0, d - 1), min_size=2, max_size=2)):
        for coin in (TRUTHFUL, OTHER):
            coins = Scripted(coin + rest)
            mechanism.randomize(value, coins)
            left.add(len(coins.rest))
    assert len(left) == 1


def test_the_draws_are_floyds_with_the_first_for_the_true_choice() -> None:
    """w = 3 of d = 8: draws over 0…4, 0…5, 0…6 of 3 bits each; then 7 and the value swap."""
    drawn = bytes([3 << 5, 3 << 5, 6 << 5])
    mechanism = subset(8, size=3)
    assert members(mechanism, mechanism.randomize(2, Scripted(OTHER + drawn))) == {3, 5, 6}
    assert members(mechanism, mechanism.randomize(2, Scripted(TRUTHFUL + drawn))) == {2, 3, 6}
    again = bytes([2 << 5, 2 << 5, 2 << 5])
    assert members(mechanism, mechanism.randomize(2, Scripted(OTHER + again))) == {7, 5, 6}
    assert members(mechanism, mechanism.randomize(7, Scripted(OTHER + again))) == {2, 5, 6}


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "4"], by_default=["1"]))
@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_every_size_of_set_keeps_epsilon_and_uses_it(d: int, epsilon: str) -> None:
    for size in range(1, d):
        mechanism = subset(d, epsilon, size)
        of = laws(mechanism, mechanism.inputs())
        check_private(of, Fraction(epsilon))
        check_tight(of, Fraction(epsilon))
        check_follows_pmf(mechanism, mechanism.inputs())


@pytest.mark.parametrize(("d", "size"), [(2, 1), (7, 3), (12, 4), (16, 2)])
def test_symbols_and_favoured_are_the_sets_and_those_that_hold_one_choice(
    d: int, size: int
) -> None:
    mechanism = subset(d, size=size)
    law = mechanism.pmf(d - 1)
    assert mechanism.alphabet_size == len(law) == comb(d, size)
    held = Counter(v for payload in law for v in members(mechanism, payload))
    assert set(held.values()) == {mechanism.support_size}


def test_messages_have_the_chances_of_the_certified_threshold() -> None:
    """T of K = C(d, w) messages with C(d − 1, w − 1) favoured is that of d with w: one ratio."""
    for d, size in ((8, 2), (63, 17), (500, 135)):
        mechanism = subset(d, size=size)
        counted = threshold(
            Fraction(1), alphabet_size=mechanism.alphabet_size, support_size=mechanism.support_size
        )
        assert mechanism.threshold == counted


def test_p_and_q_are_those_of_the_reference() -> None:
    """docs/mathematics/designs.md, The least total error."""
    eight, many = subset(8), subset(64)
    for mechanism, p, q in (
        (eight, 0.4753668864186717, 0.21780473051161833),
        (many, 0.49576653675492005, 0.26197195973404885),
    ):
        assert float(mechanism.p) == pytest.approx(p, rel=1e-15)
        assert float(mechanism.q) == pytest.approx(q, rel=1e-15)


@pytest.mark.parametrize("epsilon", grid(["0.01", "1", "20"], by_default=["1"]))
@pytest.mark.parametrize("d", [2, 3, 8, 100])
def test_sets_of_one_are_generalized_randomized_response(d: int, epsilon: str) -> None:
    one, direct = subset(d, epsilon, 1), build("grr/1", domain_size=d, epsilon=epsilon)
    assert (one.p, one.q, one.threshold) == (direct.p, direct.q, direct.threshold)


@pytest.mark.parametrize(
    ("d", "size", "bytes_", "listed"),
    rows(
        [
            (2, 1, 1, False),
            (8, 1, 1, False),  # as short either way: bits
            (9, 1, 1, True),
            (63, 7, 7, True),
            (63, 8, 8, False),
            (256, 31, 31, True),
            (256, 32, 32, False),
            (257, 16, 32, True),
            (257, 17, 33, False),
            (4096, 255, 510, True),
            (4096, 256, 512, False),
        ],
        by_default=lambda row: row[0] < 4096,
    ),
)
def test_a_set_is_a_list_of_indices_where_that_is_shorter_than_its_bits(
    d: int, size: int, bytes_: int, listed: bool
) -> None:
    mechanism = subset(d, size=size)
    assert (mechanism.payload_size, mechanism.listed, mechanism.tally_size) == (bytes_, listed, d)
    payload = mechanism.randomize(d - 1, Scripted(TRUTHFUL + bytes(6000)))
    names = sorted(members(mechanism, payload))
    width = 1 if d <= 256 else 2
    as_list = b"".join(v.to_bytes(width, "big") for v in names)
    as_bits = (
        sum(1 << (8 * bytes_ - 1 - v) for v in names).to_bytes(bytes_, "big") if not listed else b""
    )
    assert payload == (as_list if listed else as_bits)


@pytest.mark.parametrize(
    ("d", "size"),
    rows(
        [(5, 2), (9, 1), (12, 1), (12, 3), (17, 2)],
        by_default=[(5, 2), (9, 1), (17, 2)],  # of two bytes: a list
    ),
)
def test_exactly_the_sets_of_w_are_valid(d: int, size: int) -> None:
    mechanism = subset(d, size=size)
    expected = {
        payload: set(names)
        for names in combinations(range(d), size)
        for payload in [spelled(mechanism, names)]
    }
    accepted, _ = validated(mechanism)
    assert accepted == expected.keys()
    assert all(members(mechanism, payload) == names for payload, names in expected.items())


def spelled(mechanism: SubsetResponse, names: tuple[int, ...]) -> bytes:
    if mechanism.listed:
        return bytes(names)
    size = mechanism.payload_size
    return sum(1 << (8 * size - 1 - v) for v in names).to_bytes(size, "big")


@pytest.mark.parametrize(
    ("d", "size", "payload", "reason"),
    [
        (8, 2, "", "be 1 bytes, got 0"),
        (8, 2, "8000", "be 1 bytes, got 2"),
        (8, 2, "80", "hold 2 choices, got 1"),
        (8, 2, "e0", "hold 2 choices, got 3"),
        (7, 2, "81", r"name choices in \[0, 6\]"),
        (63, 3, "091010", "name choices in rising order"),
        (63, 3, "300910", "name choices in rising order"),
        (63, 3, "09103f", r"name choices in \[0, 62\]"),
        (300, 2, "0001012c", r"name choices in \[0, 299\]"),
    ],
)
def test_what_is_no_set_is_refused_with_the_reason(
    d: int, size: int, payload: str, reason: str
) -> None:
    with pytest.raises(DecodeError, match=f"payload must {reason}"):
        subset(d, size=size).validate(bytes.fromhex(payload))


@pytest.mark.parametrize("value", [-1, 3, 10**30, (1,), "1", None, 1.0])
def test_values_that_are_no_index_are_refused_and_not_repeated(value: object) -> None:
    with pytest.raises(DomainError, match=r"value must be an index in \[0, 2\]$"):
        subset(3).randomize(value, Coins.system())  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(DomainError):
        subset(3).pmf(value)  # type: ignore[arg-type]  # a wrong type is the point


def test_sizes_out_of_range_are_refused() -> None:
    for size in (0, 3, -1):
        with pytest.raises(ParameterError, match=r"subset_size must lie in \[1, 2\]"):
            subset(3, size=size)
    for d in (1, 0, 4097):
        with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 4096\]"):
            subset(d)


def test_a_law_of_too_many_sets_is_refused_without_their_number() -> None:
    with pytest.raises(ParameterError, match="sets of 17 of 63 choices"):
        subset(63).pmf(0)
    with pytest.raises(ParameterError, match="at most 65,536"):
        subset(63).rerandomized_pmf(bytes(8), 0)
