"""Haar contrasts: exactly private, drawn level by level, with the wire form it states."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.haar import MAX_HAAR_VALUES, HaarResponse
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_threshold,
)

SIZES = (2, 3, 4, 7)


def made(size: int, epsilon: Fraction = Fraction(1)) -> HaarResponse:
    return HaarResponse(size, epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_payloads_separate_two_values_by_exactly_epsilon_at_most(
    size: int, epsilon: Fraction
) -> None:
    mechanism = made(size, epsilon)
    actual = laws(mechanism, mechanism.inputs())
    check_private(actual, epsilon)
    check_follows_pmf(mechanism, mechanism.inputs())
    if epsilon <= 4:
        check_tight(actual, epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio(laws(raised, raised.inputs())), epsilon)


@pytest.mark.parametrize("size", SIZES)
def test_the_mean_sign_of_a_coefficient_is_that_of_the_half_of_the_node(size: int) -> None:
    """Over j, (−1)^(parity of j AND k)·(−1)^b averages to ±(p − q) in the node of x, else to 0."""
    mechanism = made(size)
    for value in mechanism.inputs():
        law = mechanism.pmf(value)
        for level in range(mechanism.levels):
            node, half = (
                value >> (mechanism.levels - level),
                value >> (mechanism.levels - 1 - level),
            )
            for other in range(1 << level):
                mean = Fraction()
                for j in range(1 << level):
                    code = 2 * ((1 << level) - 1 + j)
                    even, odd = (law[bytes([code + bit])] for bit in (0, 1))
                    mean += (-1) ** (j & other).bit_count() * (even - odd) * mechanism.levels
                expected = (mechanism.p - mechanism.q) * (-1) ** (half & 1) * (node == other)
                assert mean == expected


def test_every_level_is_told_equally_often() -> None:
    law = made(7).pmf(3)
    shares = [
        sum(law[bytes([code])] for code in range(2 * (2**level - 1), 2 * (2 ** (level + 1) - 1)))
        for level in range(3)
    ]
    assert shares == [Fraction(1, 3)] * 3


def test_what_is_asked_is_tossed_with_the_public_coins() -> None:
    mechanism = made(16)

    def asked(value: int, public: str) -> int:
        coins = Coins.derive(b"k" * 32, b"value", bytes([value]))
        return mechanism.randomize(value, coins, Coins.derive(b"k" * 32, public.encode()))[0] >> 1

    assert all(len({asked(v, public) for v in range(16)}) == 1 for public in ("a", "b", "c"))
    assert len({asked(0, str(place)) for place in range(60)}) > 6


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("epsilons", [("0.5", "1"), ("1", "2"), ("2", "3")], ids="-".join)
def test_a_chain_keeps_epsilon_in_each_report_and_the_permanent_one_in_two(
    size: int, epsilons: tuple[str, str]
) -> None:
    chain = build("haar/1", domain_size=size, epsilon=epsilons[0], permanent=epsilons[1])
    single = [chain.pmf(value) for value in range(size)]
    check_private(single, Fraction(epsilons[0]))
    check_tight(single, Fraction(epsilons[0]))
    histories = [chain.pmf_history([value, value]) for value in range(size)]
    largest = max(max(h[y] for h in histories) / min(h[y] for h in histories) for y in histories[0])
    assert at_most_exp(largest, Fraction(epsilons[1]))


def test_linkage_is_that_of_the_level_of_the_coefficient_and_of_a_bit() -> None:
    one_bit = linkage(build("rr/1", domain_size=1, epsilon="1", permanent="2"))
    for size, openly in ((2, 0.0), (4, 1.5), (1024, 3.3219280948873626 + 4.5)):
        chain = build("haar/1", domain_size=size, epsilon="1", permanent="2")
        assert linkage(chain) == pytest.approx(openly + one_bit)


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError, match=r"\[0, 8\]"):
        made(9).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"\x1e", b"\xff"], ids=repr)
def test_what_no_sender_gives_is_refused(payload: bytes) -> None:
    mechanism = made(9)
    mechanism.validate(b"\x1d")
    with pytest.raises(DecodeError, match="payload must"):
        mechanism.validate(payload)


@pytest.mark.parametrize("size", [1, MAX_HAAR_VALUES + 1])
def test_what_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(ParameterError, match=r"domain_size must lie in \[2, 2048\]"):
        build("haar/1", domain_size=size, epsilon="1")
