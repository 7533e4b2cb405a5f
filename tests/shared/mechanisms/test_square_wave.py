"""Square wave: exactly private, with the law it states and the window everybody finds."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.domains import Choice, Number
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms import Chain, build, for_domain
from deniable_shared.mechanisms.square_wave import MAX_CELLS, SquareWave, best_reach
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp, threshold
from support.oracles.privacy_checks import (
    EACH_EPSILON,
    check_follows_pmf,
    check_private,
    check_tight,
    largest_ratio,
    laws,
    with_threshold,
)

CASES = [(2, 0), (2, 1), (3, 1), (4, 0), (4, 2), (6, 1)]


def made(d: int, reach: int, epsilon: Fraction) -> SquareWave:
    mechanism = build("square-wave/1", domain_size=d, epsilon=epsilon, reach=reach)
    assert isinstance(mechanism, SquareWave)
    return mechanism


@pytest.mark.parametrize("epsilon", EACH_EPSILON, ids=str)
@pytest.mark.parametrize(("d", "reach"), CASES, ids=str)
def test_no_payload_tells_two_answers_apart_by_more_than_e_to_the_epsilon(
    d: int, reach: int, epsilon: Fraction
) -> None:
    mechanism = made(d, reach, epsilon)
    of = laws(mechanism, range(d))
    check_private(of, epsilon)
    check_follows_pmf(mechanism, range(d))
    if epsilon <= 4:
        check_tight(of, epsilon)
    raised = with_threshold(mechanism, mechanism.threshold + 1)
    assert not at_most_exp(largest_ratio([raised.pmf(value) for value in range(d)]), epsilon)


@pytest.mark.parametrize(("d", "reach"), CASES, ids=str)
def test_p_and_q_are_the_chances_of_the_answers_window_and_of_another(d: int, reach: int) -> None:
    mechanism = made(d, reach, Fraction(1))
    window = range(mechanism.window)
    chances = {
        value: sum(
            chance
            for payload, chance in mechanism.pmf(value).items()
            if mechanism.supports(payload, 0)
        )
        for value in range(d)
    }
    assert chances[0] == mechanism.p
    for value in range(len(window), d):
        assert chances[value] == mechanism.q


@pytest.mark.parametrize(
    ("epsilon", "b"), [("0.5", 0.358155), ("1", 0.256083), ("2", 0.129337)], ids=str
)
def test_the_reach_is_the_published_share_of_the_scale(epsilon: str, b: float) -> None:
    for size in (16, 100, 1000):
        assert best_reach(Fraction(epsilon), size) == math.floor(b * size + 0.5)


def test_the_reach_goes_from_half_of_the_scale_to_nothing() -> None:
    assert best_reach(Fraction(1, 100), 1000) == 497  # b = ½ − ε/3
    assert best_reach(Fraction(20), 1024) == 0
    reaches = [best_reach(Fraction(tenths, 10), 1024) for tenths in range(1, 200)]
    assert reaches == sorted(reaches, reverse=True)


def test_a_manifest_pins_the_reach_of_one_report_also_for_a_chain() -> None:
    chain = build("square-wave/1", domain_size=64, epsilon="1", permanent="2")
    first = getattr(chain, "first")  # noqa: B009  (a Chain does not promise it)
    assert first.reach == best_reach(Fraction(1), 64)
    assert first.threshold == threshold(
        Fraction(2), alphabet_size=first.outputs, support_size=first.window
    )


def test_a_chain_costs_what_it_says() -> None:
    chain: Chain = build("square-wave/1", domain_size=3, epsilon="1", permanent="2", reach=1)
    check_private([chain.pmf(value) for value in range(3)], Fraction(1))
    check_tight([chain.pmf(value) for value in range(3)], Fraction(1))
    for epochs in (2, 3):
        histories = [chain.pmf_history([value] * epochs) for value in range(3)]
        largest = max(
            max(h[y] for h in histories) / min(h[y] for h in histories) for y in histories[0]
        )
        assert at_most_exp(largest, Fraction(2))


def test_it_answers_for_numbers_alone() -> None:
    minutes = Number(Fraction(0), Fraction(240), Fraction(5))
    assert for_domain("square-wave/1", minutes, Fraction(1)).domain_size == 49
    with pytest.raises(ParameterError, match="answers for number"):
        for_domain("square-wave/1", Choice(("a", "b")), Fraction(1))


@pytest.mark.parametrize("value", [-1, 9, "3", None, (0, 1)], ids=repr)
def test_what_is_no_index_is_refused(value: object) -> None:
    with pytest.raises(DomainError):
        made(9, 2, Fraction(1)).randomize(value, Coins.derive(b"k"))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"\x0d", b"\xff"], ids=repr)
def test_what_is_no_output_is_refused(payload: bytes) -> None:
    mechanism = made(9, 2, Fraction(1))
    mechanism.validate(b"\x0c")
    with pytest.raises(DecodeError, match="payload must"):
        mechanism.validate(payload)


@pytest.mark.parametrize(
    ("size", "reach", "reason"),
    [
        (1, 0, r"domain_size must lie in \[2, 1024\], got 1"),
        (MAX_CELLS + 1, 3, "choose a longer step"),
        (9, -1, r"reach must lie in \[0, 4\], got -1"),
        (9, 5, r"reach must lie in \[0, 4\], got 5"),
    ],
)
def test_what_cannot_be_is_refused(size: int, reach: int, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        build("square-wave/1", domain_size=size, epsilon="1", reach=reach)
