"""Fourier marginals: the law, the promise, the order of the parities, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.fourier import FourierMarginals, place_of, set_at
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.builders.record_domains import record
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_threshold,
)

SHAPES = [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2)]


def fourier(attributes: int, ways: int = 2, epsilon: Fraction = Fraction(1)) -> FourierMarginals:
    return FourierMarginals(attributes, epsilon, ways)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_payloads_separate_two_records_by_exactly_epsilon_at_most(
    shape: tuple[int, int], epsilon: Fraction
) -> None:
    mechanism = fourier(*shape, epsilon)
    actual = laws(mechanism, mechanism.inputs())
    check_private(actual, epsilon)
    if epsilon <= 10:
        check_tight(actual, epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio(laws(raised, raised.inputs())), epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_randomize_has_exactly_the_law_that_pmf_states(
    shape: tuple[int, int], epsilon: Fraction
) -> None:
    mechanism = fourier(*shape, epsilon)
    check_follows_pmf(mechanism, mechanism.inputs())
    assert all(sum(mechanism.pmf(value).values()) == 1 for value in mechanism.inputs())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_p_and_q_are_the_chances_of_telling_a_parity_as_it_is_and_flipped(
    shape: tuple[int, int],
) -> None:
    mechanism = fourier(*shape)
    for value in mechanism.inputs():
        for place in range(mechanism.coefficients):
            odd = sum(mechanism.domain_size >> 1 + at & value > 0 for at in set_at(place, shape[0]))
            law = {y[0] & 1: p for y, p in mechanism.pmf(value).items() if y[0] >> 1 == place}
            assert law[odd % 2] * mechanism.coefficients == mechanism.p
            assert law[1 - odd % 2] * mechanism.coefficients == mechanism.q


@pytest.mark.parametrize("attributes", range(2, 8))
def test_parities_stand_by_size_and_then_as_words(attributes: int) -> None:
    sizes = range(1, attributes + 1)
    sets = [each for k in sizes for each in combinations(range(attributes), k)]
    assert [set_at(place, attributes) for place in range(len(sets))] == sets
    assert [place_of(each, attributes) for each in sets] == list(range(len(sets)))


def test_the_parity_is_tossed_with_the_public_coins() -> None:
    def sent(value: int, public: int) -> int:
        coins = Coins.derive(b"k" * 32, b"value", bytes([value]))
        return fourier(4).randomize(value, coins, Coins.derive(b"k" * 32, bytes([public])))[0]

    for public in range(5):
        assert len({sent(value, public) >> 1 for value in range(16)}) == 1
    assert len({sent(0, public) >> 1 for public in range(100)}) == 10


@pytest.mark.parametrize("epsilons", [("0.5", "1"), ("1", "2"), ("2", "3")], ids="-".join)
def test_a_chain_keeps_epsilon_in_each_report_and_the_permanent_one_in_all(
    epsilons: tuple[str, str],
) -> None:
    report, permanent = map(Fraction, epsilons)
    chain = for_domain("fourier/1", record(2, 2, 2), report, permanent=permanent)
    once = [chain.pmf(value) for value in chain.inputs()]
    check_private(once, report)
    check_tight(once, report)
    twice = [chain.pmf_history([value, value]) for value in chain.inputs()]
    likely = max(max(law[y] for law in twice) / min(law[y] for law in twice) for y in twice[0])
    assert at_most_exp(likely, permanent)
    bit = for_domain("fourier/1", record(2, 2), report, permanent=permanent, parameters={"ways": 1})
    assert linkage(chain) - linkage(bit) == pytest.approx(1.5849625007211562)


def test_what_validate_takes_is_exactly_what_randomize_can_give() -> None:
    mechanism = fourier(3)
    possible = set(mechanism.pmf(0))
    for number in range(256):
        if bytes([number]) in possible:
            mechanism.validate(bytes([number]))
        else:
            with pytest.raises(DecodeError):
                mechanism.validate(bytes([number]))
    with pytest.raises(DecodeError, match="must be 1 bytes"):
        mechanism.validate(b"\0\0")


def test_shapes_and_values_that_cannot_be_told_are_refused_with_the_cure() -> None:
    with pytest.raises(ParameterError, match="two labels, got 3: use pairs/1"):
        for_domain("fourier/1", record(2, 3), Fraction(1))
    for attributes, ways, match in (
        (1, 1, "2 to 64 attributes"),
        (3, 0, r"ways must lie in \[1, 3\]"),
        (3, 4, r"ways must lie in \[1, 3\]"),
        (64, 5, "marginals of fewer attributes"),
    ):
        with pytest.raises(ParameterError, match=match):
            fourier(attributes, ways)
    with pytest.raises(DomainError, match=r"index in \[0, 7\]$"):
        fourier(3).randomize(8, Coins.system())


def test_sixty_four_attributes_have_short_payloads_and_small_tallies() -> None:
    mechanism = build("fourier/1", domain_size=1 << 64, radices=(2,) * 64, epsilon="1")
    assert (mechanism.payload_size, mechanism.tally_size) == (2, 4160)
    mechanism.validate(mechanism.randomize((1 << 64) - 1, Coins.system()))
