"""Bit flips on sampled buckets: the law of `rr-sampled/1` on one yes, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.domains import Choice, Number
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.dbitflip import BucketFlips
from deniable_shared.randomness.coins import Coins
from support.tiers import grid

NUMBER = 'type = "number"\nlow = "0"\nhigh = "9"\nstep = "1"'


def flips(d: int, epsilon: str = "1", **given: int) -> BucketFlips:
    mechanism = build("dbitflip/1", domain_size=d, epsilon=epsilon, permanent=None, **given)
    assert isinstance(mechanism, BucketFlips)
    return mechanism


@pytest.mark.parametrize(("d", "sampled"), [(2, 1), (4, 1), (4, 2), (4, 4), (9, 3)])
def test_it_is_the_law_of_sampled_bits_of_which_one_is_set(d: int, sampled: int) -> None:
    bits = build("rr-sampled/1", domain_size=d, epsilon="1", sampled=sampled, distance=2)
    mechanism = flips(d, sampled=sampled)
    for value in range(d):
        vector = [int(place == value) for place in range(d)]
        assert mechanism.pmf(value) == bits.pmf(vector)
        coins, same = Coins.derive(bytes([value])), Coins.derive(bytes([value]))
        assert mechanism.randomize(value, coins) == bits.randomize(vector, same)


@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "2", "4"], by_default=["0.5", "4"]))
def test_one_bucket_says_as_much_as_four_or_more_that_share_epsilon(epsilon: str) -> None:
    """q(1 − q)/(p − q)²·D/t: one place equals t = 4·cosh²(ε/4) of them."""
    worth = 4 * math.cosh(float(epsilon) / 4) ** 2
    near = [
        float(each.q * (1 - each.q) / (each.p - each.q) ** 2 / each.sampling_fraction)
        for each in (flips(100, epsilon), flips(100, epsilon, sampled=50))
    ]
    assert near[1] / near[0] == pytest.approx(worth / 50, rel=1e-9)
    assert worth >= 4


def test_one_bucket_is_told_unless_it_is_said() -> None:
    assert flips(100).sampled == 1
    assert flips(100).threshold == build("rr/1", domain_size=1, epsilon="1").threshold
    assert flips(100, sampled=3).threshold == build("rr/1", domain_size=1, epsilon="0.5").threshold


def test_it_answers_for_numbers_alone() -> None:
    minutes = Number(Fraction(0), Fraction(240), Fraction(5))
    assert for_domain("dbitflip/1", minutes, Fraction(1)).domain_size == 49
    with pytest.raises(ParameterError, match="answers for number"):
        for_domain("dbitflip/1", Choice(("a", "b")), Fraction(1))


@pytest.mark.parametrize(
    ("size", "given", "reason"),
    [
        (1, {}, r"domain_size must lie in \[2, 4096\], got 1"),
        (4097, {}, "choose a longer step"),
        (9, {"sampled": 0}, r"sampled must lie in \[1, 9\], got 0"),
        (9, {"sampled": 10}, r"sampled must lie in \[1, 9\], got 10"),
    ],
)
def test_what_cannot_be_is_refused(size: int, given: dict[str, int], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("dbitflip/1", domain_size=size, epsilon="1", permanent=None, **given)


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0,) * 9], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError):
        flips(9).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"\x12", b"\xff"], ids=repr)
def test_what_is_no_payload_is_refused(payload: bytes) -> None:
    flips(9).validate(b"\x11")
    with pytest.raises(DecodeError, match="payload must"):
        flips(9).validate(payload)
