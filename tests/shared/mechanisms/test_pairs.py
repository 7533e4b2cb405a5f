"""Sampled pairs: the law, the promise and the wire form, by enumeration."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from deniable_shared.domains import Choice
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.pairs import SampledPairs
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
    validated,
    with_threshold,
)
from support.tiers import grid

BITS = [(0, 0), (0, 1), (1, 0), (1, 1)]
SHAPES = [(2, 2), (2, 3), (2, 2, 2), (2, 2, 3), (3, 2, 2)]


def pairs(*radices: int, epsilon: Fraction = Fraction(1)) -> SampledPairs:
    return SampledPairs(radices, epsilon, epsilon)


def raised(mechanism: SampledPairs, size: int) -> SampledPairs:
    """With T one higher in the choices among `size` joint codes."""
    twin = copy.copy(mechanism)
    choices = tuple(
        with_threshold(choice, choice.threshold + 1) if choice.domain_size == size else choice
        for choice in mechanism.choices
    )
    object.__setattr__(twin, "choices", choices)
    return twin


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("radices", SHAPES, ids=str)
def test_payloads_separate_two_records_by_exactly_epsilon_at_most(
    radices: tuple[int, ...], epsilon: Fraction
) -> None:
    mechanism = pairs(*radices, epsilon=epsilon)
    actual = laws(mechanism, mechanism.inputs())
    check_private(actual, epsilon)
    if epsilon <= 10:
        check_tight(actual, epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("size", [4, 6])
def test_a_threshold_one_higher_in_any_pair_breaks_the_promise(
    size: int, epsilon: Fraction
) -> None:
    mechanism = raised(pairs(2, 2, 3, epsilon=epsilon), size)
    assert not at_most_exp(largest_ratio(laws(mechanism, mechanism.inputs())), epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("radices", SHAPES, ids=str)
def test_randomize_has_exactly_the_law_that_pmf_states(
    radices: tuple[int, ...], epsilon: Fraction
) -> None:
    mechanism = pairs(*radices, epsilon=epsilon)
    check_follows_pmf(mechanism, mechanism.inputs())
    assert all(sum(mechanism.pmf(value).values()) == 1 for value in mechanism.inputs())


def test_every_pair_is_told_equally_often_whatever_the_record() -> None:
    mechanism = pairs(2, 2, 3)
    for value in mechanism.inputs():
        result = [Fraction()] * 3
        for payload, chance in mechanism.pmf(value).items():
            result[mechanism.read(payload)[0]] += chance
        assert result == [Fraction(1, 3)] * 3


def test_the_pair_is_drawn_by_public_coins_and_its_code_by_the_others() -> None:
    mechanism = pairs(2, 3, 4)

    def sent(value: int, public: str) -> bytes:
        coins = Coins.derive(b"k" * 32, b"value", bytes([value]))
        return mechanism.randomize(value, coins, Coins.derive(b"k" * 32, public.encode()))

    for public in ("one", "two", "three", "four"):
        assert len({sent(value, public)[0] for value in range(24)}) == 1
    assert len({sent(0, str(place))[0] for place in range(40)}) == 3


def test_p_and_q_are_those_of_the_pair_of_least_share() -> None:
    mechanism = pairs(2, 2, 3)
    shares = [Fraction(each.subset_size, each.domain_size) for each in mechanism.choices]
    least = mechanism.choices[shares.index(min(shares))]
    assert (mechanism.p, mechanism.q, mechanism.threshold) == (least.p, least.q, least.threshold)
    place = shares.index(min(shares))
    law = mechanism.pmf(0)
    chance = sum(
        chance
        for payload, chance in law.items()
        if mechanism.read(payload)[0] == place and mechanism.supports(payload, 0)
    )
    assert chance == mechanism.p / 3


@pytest.mark.parametrize(
    "radices", grid([(2, 2), (2, 2, 2), (2, 2, 3)], by_default=[(2, 2), (2, 2, 3)]), ids=str
)
@pytest.mark.parametrize(
    "epsilons",
    grid([("0.5", "1"), ("1", "2"), ("2", "3")], by_default=[("0.5", "1"), ("2", "3")]),
    ids="-".join,
)
def test_a_chain_keeps_epsilon_in_each_report_and_the_permanent_one_in_two(
    radices: tuple[int, ...], epsilons: tuple[str, str]
) -> None:
    report, permanent = map(Fraction, epsilons)
    chain = for_domain("pairs/1", record(*radices), report, permanent=permanent)
    inputs = list(chain.inputs())
    once = [chain.pmf(value) for value in inputs]
    assert all(sum(law.values()) == 1 for law in once)
    check_private(once, report)
    check_tight(once, report)
    twice = [chain.pmf_history([value, value]) for value in (inputs[0], inputs[-1])]
    likely = max(max(law[y] for law in twice) / min(law[y] for law in twice) for y in twice[0])
    assert at_most_exp(likely, permanent)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_linkage_of_a_chain_is_the_mutual_information_of_two_reports() -> None:
    for radices, size in (((2, 2), 4), ((2, 2, 3), 12)):
        chain = build("pairs/1", domain_size=size, radices=radices, epsilon="1", permanent="2")
        laws_of_two = [chain.pmf_history([value, value]) for value in range(size)]
        assert linkage(chain) == pytest.approx(mutual_information(laws_of_two), abs=1e-12)


def mutual_information(histories: Sequence[Mapping[tuple[bytes, ...], Fraction]]) -> float:
    """Of two reports of one permanent answer, the value uniform, in bits."""
    joint: dict[tuple[bytes, ...], Fraction] = defaultdict(Fraction)
    first: dict[bytes, Fraction] = defaultdict(Fraction)
    for law in histories:
        for reports, chance in law.items():
            joint[reports] += chance / len(histories)
            first[reports[0]] += chance / len(histories)
    return math.fsum(
        float(p) * math.log2(p / (first[one] * first[two])) for (one, two), p in joint.items()
    )


@pytest.mark.parametrize("radices", SHAPES, ids=str)
def test_what_validate_takes_is_exactly_what_randomize_can_give(radices: tuple[int, ...]) -> None:
    mechanism = pairs(*radices)
    possible = set(mechanism.pmf(0))
    assert mechanism.payload_size <= 2
    accepted, _ = validated(mechanism)
    assert accepted == possible


def test_a_payload_of_another_length_is_refused() -> None:
    for payload in (b"", b"\0", b"\0\0\0"):
        with pytest.raises(DecodeError, match="must be 2 bytes"):
            pairs(2, 2, 3).validate(payload)


def test_shapes_that_cannot_be_told_are_refused_with_the_cure() -> None:
    for radices, match in (
        ((4,), "2 to 64 attributes"),
        ((2, 1), r"lie in \[2, 65536\], got 1"),
        ((64, 65), "merge rare labels"),
        ((64,) * 30, "ask for fewer attributes"),
    ):
        with pytest.raises(ParameterError, match=match):
            pairs(*radices)


def test_the_registry_needs_the_shape_that_fits_the_size() -> None:
    for more, match in (
        ({}, "radices must hold the number"),
        ({"radices": (2, 2)}, "product of the radices"),
        ({"radices": (2, 2.5)}, "must be an integer"),
        ({"radices": (2, 3), "ways": 2}, "takes radices besides"),
    ):
        with pytest.raises(ParameterError, match=match):
            build("pairs/1", domain_size=6, epsilon="1", **more)
    with pytest.raises(ParameterError, match="follows from the domain"):
        for_domain("pairs/1", record(2, 3), Fraction(1), parameters={"radices": (2, 3)})
    with pytest.raises(ParameterError, match="answers for record, not for"):
        for_domain("pairs/1", Choice(("a", "b")), Fraction(1))


def test_values_out_of_the_domain_are_refused_without_being_repeated() -> None:
    for value in (-1, 12, (0, 1)):
        with pytest.raises(DomainError, match=r"index in \[0, 11\]$"):
            pairs(2, 2, 3).randomize(value, Coins.system())


@pytest.mark.parametrize("id", ["rs+fd/1", "rs+fd", "RSFD/1", "rs+rfd/1", "spl/1", "split"])
def test_mechanisms_that_break_or_waste_epsilon_are_refused_with_a_reason(id: str) -> None:
    match = r"ln\(m\(e\^ε − 1\) \+ 1\).*1\.490.*pairs/1" if "r" in id.lower() else "Use pairs/1"
    with pytest.raises(ParameterError, match=match):
        build(id, domain_size=4, epsilon="1")
    with pytest.raises(ParameterError, match=match):
        for_domain(id, record(2, 2), Fraction(1))


def test_the_loss_that_is_named_of_fake_data_is_the_exact_one() -> None:
    """Two binary attributes, RS+FD with grr: sampled at ε′, the other uniform, which is hidden."""
    e = math.exp(1)
    amplified = math.log(2 * (e - 1) + 1)
    p = math.exp(amplified) / (math.exp(amplified) + 1)

    def chance(sent: int, true: int) -> float:
        return p if sent == true else 1 - p

    def law(x: int, y: int) -> dict[tuple[int, int], float]:
        return {(a, b): (chance(a, x) / 2 + chance(b, y) / 2) / 2 for a in (0, 1) for b in (0, 1)}

    worst = max(
        math.log(law(*one)[sent] / law(*other)[sent])
        for one in BITS
        for other in BITS
        for sent in BITS
    )
    assert worst == pytest.approx(amplified)
    assert f"{worst:.3f}" == "1.490"
