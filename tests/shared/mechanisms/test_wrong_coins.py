"""Known mistakes in drawing and in keying the coins, each with the check that must see it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable_shared.domains import Bits, Domain
from deniable_shared.mechanisms import for_domain
from deniable_shared.randomness.coins import Coins
from support.oracles.privacy_checks import (
    Encoded,
    check_below_is_uniform,
    check_keyed_by_value,
    valid_inputs,
)

pytestmark = pytest.mark.exhaustive

THREE_BITS = Bits(("a", "b", "c"))


def modulo(coins: Coins, bound: int) -> int:
    return coins.bits(8) % bound


def one_too_many(coins: Coins, bound: int) -> int:
    drawn = coins.bits((bound - 1).bit_length())
    while drawn > bound:
        drawn = coins.bits((bound - 1).bit_length())
    return drawn


@pytest.mark.parametrize("below", [modulo, one_too_many])
def test_uniformity_sees_a_draw_that_is_not_by_exact_rejection(
    below: Callable[[Coins, int], int],
) -> None:
    with pytest.raises(AssertionError):
        check_below_is_uniform(below, 6)
    check_below_is_uniform(Coins.below, 6)


def coins_of(key: bytes, domain: Domain, value: Encoded) -> Coins:
    return Coins.derive(key, b"epoch 7", domain.canonical(value))  # type: ignore[arg-type]  # a value of this domain


def coins_of_the_epoch_alone(key: bytes, domain: Domain, value: Encoded) -> Coins:
    return Coins.derive(key, b"epoch 7")


def coins_of_the_number_of_ones(key: bytes, domain: Domain, value: Encoded) -> Coins:
    return Coins.derive(key, b"epoch 7", bytes([value if isinstance(value, int) else sum(value)]))


def coins_of_all_but_the_last_bit(key: bytes, domain: Domain, value: Encoded) -> Coins:
    packed = domain.canonical(value)[0]  # type: ignore[arg-type]  # a value of this domain
    return Coins.derive(key, b"epoch 7", bytes([packed & 0b1100_0000]))


@pytest.mark.parametrize(
    "derive",
    [coins_of_the_epoch_alone, coins_of_the_number_of_ones, coins_of_all_but_the_last_bit],
)
def test_comparison_of_streams_sees_coins_not_keyed_by_the_whole_value(
    derive: Callable[[bytes, Domain, Encoded], Coins],
) -> None:
    key, inputs = secrets.token_bytes(32), valid_inputs(THREE_BITS)
    with pytest.raises(AssertionError):
        check_keyed_by_value(lambda value: derive(key, THREE_BITS, value), inputs)
    check_keyed_by_value(lambda value: coins_of(key, THREE_BITS, value), inputs)


def test_two_values_under_one_stream_differ_in_the_open() -> None:
    """Why the value keys the coins: else two payloads differ exactly where the answers do."""
    key, mechanism = secrets.token_bytes(32), for_domain("rr/1", THREE_BITS, Fraction(1))
    one, other = (
        mechanism.randomize(value, coins_of_the_epoch_alone(key, THREE_BITS, value))[0]
        for value in ((1, 0, 1), (0, 0, 1))
    )
    assert one ^ other == 0b1000_0000
