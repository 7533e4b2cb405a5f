"""A tree of sets: exactly private at every level, with the law it states and open levels."""

from __future__ import annotations

import copy
from collections import defaultdict
from fractions import Fraction

import pytest

from deniable_shared.analysis.range_error import level_sizes
from deniable_shared.domains import Choice, Number
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.manifest.linkage import linkage
from deniable_shared.mechanisms import build, for_domain
from deniable_shared.mechanisms.tree import MAX_LEAVES, TreeResponse
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

CASES = [(2, 2), (3, 2), (4, 2), (5, 3), (6, 6)]


def made(leaves: int, fan_out: int, epsilon: Fraction = Fraction(1)) -> TreeResponse:
    return TreeResponse(leaves, epsilon, epsilon, fan_out)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize(("leaves", "fan_out"), CASES, ids=str)
def test_payloads_separate_two_values_by_exactly_epsilon_at_most(
    leaves: int, fan_out: int, epsilon: Fraction
) -> None:
    mechanism = made(leaves, fan_out, epsilon)
    actual = laws(mechanism, mechanism.inputs())
    check_private(actual, epsilon)
    check_follows_pmf(mechanism, mechanism.inputs())
    if epsilon <= 10:
        check_tight(actual, epsilon)


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize("place", [0, 1])
def test_a_threshold_one_higher_at_any_level_breaks_the_promise(
    place: int, epsilon: Fraction
) -> None:
    mechanism = made(5, 3, epsilon)
    twin, choices = copy.copy(mechanism), list(mechanism.choices)
    choices[place] = with_threshold(choices[place], choices[place].threshold + 1)
    object.__setattr__(twin, "choices", tuple(choices))
    assert not at_most_exp(largest_ratio(laws(twin, twin.inputs())), epsilon)


def test_every_level_is_equally_frequent_and_supports_the_values_node() -> None:
    mechanism = made(5, 2)
    assert [choice.domain_size for choice in mechanism.choices] == [2, 3, 5]
    for value in mechanism.inputs():
        result: dict[int, Fraction] = defaultdict(Fraction)
        true: dict[int, Fraction] = defaultdict(Fraction)
        for payload, chance in mechanism.pmf(value).items():
            place = mechanism.read(payload)[0]
            result[place] += chance
            true[place] += chance * mechanism.supports(payload, value)
        assert result == {place: Fraction(1, 3) for place in range(3)}
        assert true == {place: choice.p / 3 for place, choice in enumerate(mechanism.choices)}


def test_neighbours_share_their_nodes_up_to_where_they_part() -> None:
    mechanism = made(16, 4)
    shared = [[mechanism.code(v, place) for place in (0, 1)] for v in (0, 3, 4, 15)]
    assert shared == [[0, 0], [0, 3], [1, 4], [3, 15]]


def test_the_level_is_tossed_with_the_public_coins() -> None:
    mechanism = made(20, 3)

    def sent(value: int, public: str) -> int:
        coins = Coins.derive(b"k" * 32, b"value", bytes([value]))
        payload = mechanism.randomize(value, coins, Coins.derive(b"k" * 32, public.encode()))
        return mechanism.read(payload)[0]

    assert all(len({sent(v, public) for v in range(20)}) == 1 for public in ("a", "b", "c"))
    assert {sent(0, str(place)) for place in range(40)} == {0, 1, 2}


@pytest.mark.parametrize(("leaves", "fan_out"), [(3, 2), (4, 2), (5, 3)], ids=str)
@pytest.mark.parametrize("epsilons", [("0.5", "1"), ("1", "2"), ("2", "3")], ids="-".join)
def test_a_chain_keeps_epsilon_in_each_report_and_the_permanent_one_in_two(
    leaves: int, fan_out: int, epsilons: tuple[str, str]
) -> None:
    chain = build(
        "tree/1",
        domain_size=leaves,
        epsilon=epsilons[0],
        permanent=epsilons[1],
        fan_out=fan_out,
    )
    single = [chain.pmf(value) for value in range(leaves)]
    check_private(single, Fraction(epsilons[0]))
    check_tight(single, Fraction(epsilons[0]))
    check_private_histories([chain.pmf_history([v, v]) for v in range(leaves)], epsilons[1])


def check_private_histories(found: list[dict[tuple[bytes, ...], Fraction]], epsilon: str) -> None:
    keys = set().union(*found)
    for key in keys:
        chances = [history.get(key, Fraction()) for history in found]
        assert (min(chances) == 0) == (max(chances) == 0)
        if max(chances):
            assert at_most_exp(max(chances) / min(chances), Fraction(epsilon))


def test_linkage_is_that_of_the_level_and_of_its_set() -> None:
    chain = build("tree/1", domain_size=4, epsilon="1", permanent="2", fan_out=2)
    flat = build("tree/1", domain_size=4, epsilon="1", permanent="2", fan_out=4)
    assert linkage(flat) == pytest.approx(
        linkage(build("subset/1", domain_size=4, epsilon="1", permanent="2"))
    )
    assert 1 < linkage(chain) < 1.3


def test_a_level_is_divided_by_the_fan_out_rounded_up() -> None:
    assert level_sizes(256, 4) == (4, 16, 64, 256)
    assert level_sizes(100, 5) == (4, 20, 100)
    assert level_sizes(17, 16) == (2, 17)
    assert level_sizes(9, 9) == (9,)


def test_it_answers_for_numbers_alone() -> None:
    minutes = Number(Fraction(0), Fraction(240), Fraction(5))
    mechanism = for_domain("tree/1", minutes, Fraction(1))
    assert (mechanism.domain_size, getattr(mechanism, "fan_out")) == (49, 7)  # noqa: B009  (the protocol does not promise it)
    with pytest.raises(ParameterError, match="answers for number"):
        for_domain("tree/1", Choice(("a", "b")), Fraction(1))


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError, match=r"\[0, 8\]"):
        made(9, 3).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b"\0", "3 bytes"), (b"\2\0\0", "name a level"), (b"\0\x20\1", "padded")],
    ids=repr,
)
def test_what_no_sender_gives_is_refused(payload: bytes, reason: str) -> None:
    mechanism = made(9, 3)
    for each in mechanism.pmf(0):
        mechanism.validate(each)
    with pytest.raises(DecodeError, match=reason):
        mechanism.validate(payload)


@pytest.mark.parametrize(
    ("leaves", "fan_out", "reason"),
    [
        (1, 2, r"domain_size must lie in \[2, 2048\], got 1"),
        (MAX_LEAVES + 1, 4, "choose a longer step"),
        (9, 1, r"fan_out must lie in \[2, 9\], got 1"),
        (9, 10, r"fan_out must lie in \[2, 9\], got 10"),
    ],
)
def test_what_cannot_be_is_refused(leaves: int, fan_out: int, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("tree/1", domain_size=leaves, epsilon="1", fan_out=fan_out)
