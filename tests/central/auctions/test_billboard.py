"""The billboard: what moves it, what it costs, and that others learn nothing about one player."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.accounting import AccountError
from deniable_central.auctions import (
    AllocationPlan,
    Billboard,
    Buyers,
    GaussianNoise,
    GeometricNoise,
    MarketError,
    Menu,
    noise_within,
)
from deniable_central.guarantee import pure_rho
from deniable_central.pmf import Pmf
from support.oracles.central_accounting import renyi
from support.oracles.central_auctions import (
    WORTHS,
    board_law,
    check_jointly_concentrated,
    check_jointly_private,
    coarse_billboard,
    tiny_plan,
)
from support.oracles.selection_checks import check_follows
from support.tiers import grid

UNLIKE = Menu(np.array([[0, 0], [1, 0], [2, 1]]))
MOVED = [
    (Menu.bundles(4, most=1), 2, 2),
    (Menu.bundles(4, most=2), 4, 4),
    (Menu.bundles(4, most=3), 4, 4),  # all four, by a bundle of three and one without its own
    (UNLIKE, 3, 5),
]


@pytest.mark.parametrize(("menu", "moves", "squared"), MOVED)
def test_one_player_moves_the_demand_by_the_menu_and_some_that_far(
    menu: Menu, moves: int, squared: int
) -> None:
    """Every choice of one player exchanged for every other, with a player who stays."""
    pairs = itertools.product(range(menu.size), repeat=2)
    moved = [
        np.abs(menu.demand(np.array([a, 1])) - menu.demand(np.array([b, 1]))) for a, b in pairs
    ]
    assert max(int(m.sum()) for m in moved) == menu.moves == moves
    assert max(int((m**2).sum()) for m in moved) == menu.squared_moves == squared


@pytest.mark.parametrize("menu", [menu for menu, _, _ in MOVED])
def test_the_noise_of_every_menu_costs_what_was_asked(menu: Menu) -> None:
    assert noise_within(menu, 7, rho=Fraction(3)).guarantee(menu, 7).rho == 3
    assert noise_within(menu, 7, epsilon=3).guarantee(menu, 7).epsilon == 3


def test_a_menu_of_bundles_has_every_set_once() -> None:
    menu = Menu.bundles(4, most=2)
    assert menu.size == 1 + 4 + 6
    assert len(np.unique(menu.options, axis=0)) == menu.size
    assert (Menu.singles(3).options == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]).all()


@pytest.mark.parametrize("rounds", [1, 10, 400])
def test_noise_is_as_little_as_the_budget_lets_it_be(rounds: int) -> None:
    menu, rho = Menu.singles(5), Fraction(1, 2)
    gaussian = noise_within(menu, rounds, rho=rho)
    assert gaussian == GaussianNoise(rounds / rho)  # σ² = T/ρ
    assert gaussian.guarantee(menu, rounds).rho == rho
    geometric = noise_within(menu, rounds, epsilon=1)
    assert geometric == GeometricNoise(Fraction(1, 2 * rounds))
    assert geometric.guarantee(menu, rounds).epsilon == 1


def test_many_small_rounds_cost_less_rho_than_one_of_their_epsilon() -> None:
    menu = Menu.singles(2)
    spent = noise_within(menu, 50, epsilon=1).guarantee(menu, 50).rho
    assert spent == 50 * pure_rho(Fraction(1, 50)) < pure_rho(Fraction(1)) / 20


def test_the_variance_of_geometric_noise_is_its_formula() -> None:
    z = math.exp(-0.3)
    assert GeometricNoise(Fraction(3, 10)).variance == pytest.approx(2 * z / (1 - z) ** 2)


@pytest.mark.slow
def test_what_all_others_see_and_get_hides_one_buyer() -> None:
    check_jointly_private(tiny_plan(2).billboard, epsilon=2.0, tight=0.9)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_three_rounds_with_a_private_choice_among_two_hide_one_buyer() -> None:
    check_jointly_private(coarse_billboard(3), epsilon=2.0)


@pytest.mark.slow
def test_two_unlike_goods_hide_one_buyer_of_bundles() -> None:
    noise = noise_within(UNLIKE, 2, epsilon=2)
    plan = AllocationPlan(2, UNLIKE, np.array([1, 1]), 2, noise)
    check_jointly_private(plan.billboard, epsilon=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("rho", grid([Fraction(1, 4), Fraction(2)], by_default=[Fraction(2)]))
def test_rounds_of_gaussian_noise_hide_one_buyer_as_rho_says(rho: Fraction) -> None:
    noise = noise_within(Menu.singles(2), 2, rho=rho)
    check_jointly_concentrated(tiny_plan(2, noise).billboard, rho=rho)


def test_a_buyer_who_goes_from_one_good_to_another_reaches_rho() -> None:
    """Of the noisy demands themselves: 20 deviations either side hold all but 10^−80."""
    menu, rounds, rho = Menu.singles(2), 50, Fraction(1)
    noise = noise_within(menu, rounds, rho=rho)
    assert isinstance(noise, GaussianNoise)
    law = np.exp(-(np.arange(-140, 141) ** 2) / (2 * float(noise.sigma_squared)))
    fell, stayed, rose = (part / part.sum() for part in (law[2:], law[1:-1], law[:-2]))
    for alpha in (1.01, 2.0, 8.0):
        both = renyi(fell, stayed, alpha) + renyi(rose, stayed, alpha)
        assert rounds * both == pytest.approx(float(rho) * alpha, rel=1e-6)


@pytest.mark.statistical
def test_boards_follow_their_law() -> None:
    """3,000 draws, rejected at 1e-6."""
    plan = tiny_plan(2)
    buyers = Buyers(np.array(WORTHS[1:3]), plan.menu)
    law = board_law(plan.billboard, buyers)
    bounds = tuple(Fraction(chance) for chance in law.values())

    def draw() -> tuple[tuple[float, ...], ...]:
        boards = plan.billboard.release(buyers.choose).result
        return tuple(tuple(round(p, 6) for p in board) for board in boards.tolist())

    check_follows(draw, Pmf(tuple(law), bounds, bounds), draws=3_000)


def test_a_release_says_whom_it_protects_from_whom() -> None:
    plan = tiny_plan(2)
    released = plan.billboard.release(Buyers(np.array(WORTHS[:2]), plan.menu).choose)
    assert released.protects == "all that one player reported"
    assert "all other players and their outcomes together" in released.against
    assert released.epsilon == 2
    assert released.result.shape == (3, 2)


def test_buyers_take_what_is_best_and_nothing_if_nothing_is() -> None:
    buyers = Buyers([[0.5, 0.9], [0.5, 0.5], [0.0, 0.2]], Menu.singles(2))
    assert buyers.choose(np.array([0.1, 0.6])).tolist() == [1, 1, 0]
    assert buyers.choose(np.array([0.5, 0.5])).tolist() == [2, 0, 0]
    boards = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert buyers.choose_at(boards, np.array([0, 1, 0])).tolist() == [1, 2, 0]
    assert buyers.choose(boards[0], only=np.array([2, 0])).tolist() == [0, 1]


def test_worths_that_are_none_are_moved_and_never_refused() -> None:
    buyers = Buyers([[float("nan"), 7.0], [-3.0, float("inf")]], Menu.singles(2))
    assert buyers.worths.T.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "options", [[[1, 0], [0, 0]], [[0.0, 0.0]], [0, 1], [[0, 0], [-1, 0]], [[0, 0]]]
)
def test_a_menu_that_is_none_is_refused(options: list[list[int]]) -> None:
    with pytest.raises(MarketError, match="option"):
        Menu(np.array(options))


@pytest.mark.parametrize(("goods", "most"), [(30, 3), (100, 50)])
def test_a_menu_of_too_many_bundles_is_refused_with_the_cure(goods: int, most: int) -> None:
    with pytest.raises(MarketError, match="offer smaller bundles"):
        Menu.bundles(goods, most=most)


@pytest.mark.parametrize("rounds", [0, 1.5, 10**6])
def test_rounds_are_few_enough_to_be_drawn(rounds: int) -> None:
    with pytest.raises(AccountError, match="rounds must be an int in"):
        noise_within(Menu.singles(2), rounds, epsilon=1)


@pytest.mark.parametrize("given", [{}, {"rho": Fraction(1), "epsilon": 1}])
def test_exactly_one_budget_is_given(given: dict[str, int]) -> None:
    with pytest.raises(MarketError, match="exactly one of rho"):
        noise_within(Menu.singles(2), 2, **given)  # type: ignore[arg-type]  # a wrong type is the point


def test_noise_that_is_none_or_endless_is_refused() -> None:
    with pytest.raises(MarketError, match="sigma_squared must be positive"):
        GaussianNoise(Fraction(0))
    for decay in (Fraction(0), Fraction(1, 1 << 51)):
        with pytest.raises(MarketError, match="fewer rounds or smaller bundles"):
            GeometricNoise(decay)


def test_a_board_posts_a_number_for_every_good() -> None:
    with pytest.raises(MarketError, match="one number for each of 2 goods"):
        Billboard(Menu.singles(2), GeometricNoise(Fraction(1)), 2, np.zeros(3), lambda b, d: b)
    with pytest.raises(AccountError, match="rounds must be"):
        Billboard(Menu.singles(2), GeometricNoise(Fraction(1)), 0, np.zeros(2), lambda b, d: b)
