"""What cannot be accounted for or drawn is refused in the words of the one who asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.accounting import (
    Installation,
    composition,
    concentrated,
    generalization,
    group,
    rational_bounds,
    renyi,
    shuffle,
    spending,
)
from deniable_central.accounting.holdout import HoldoutPlan
from deniable_central.auctions import MarketError, price_grid
from deniable_central.auctions.buyers import Buyers
from deniable_central.auctions.demand_noise import GaussianNoise, GeometricNoise, noise_within
from deniable_central.auctions.menu import Menu
from deniable_central.auctions.price_grid import PriceGrid
from deniable_central.auctions.pricing import revenue
from deniable_central.auctions.routing import Roads
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.pmf import Pmf
from deniable_central.queries.online_plan import OnlinePlan, SessionDemand
from deniable_central.samplers import noise
from deniable_central.samplers.noise import discrete_gaussian
from deniable_central.selection.accuracy import mean_shortfall_by_measure
from deniable_central.selection.exponential import checked_measure
from deniable_central.selection.privacy_parameters import privacy_parameters
from deniable_central.stability import SampleAggregate, StabilityTest
from deniable_shared.randomness.coins import Coins
from support.tiers import by_tier

PRIVACY = privacy_parameters(epsilon=1, sensitivity=1)
HALF = Fraction(1, 2)
SPLIT = (Fraction(1), Fraction(1), Fraction(1))
DEMAND = SessionDemand(rows=1000, domain=4, queries=10)
ROADS = Roads((("home", "work"),), (1.0,), (("home", "work"),))
CURVE = renyi.RenyiCurve.pure("1")
NEVER = Guarantee(None, Fraction(1), Fraction(1, 10**6), Adjacency.REPLACE)

REFUSED: dict[str, Callable[[], object]] = {
    "each_delta must lie in [0, 1), got 1": lambda: composition.optimal_delta(
        "1", releases=2, target="1", each_delta=Fraction(1)
    ),
    "epsilon must be at least 0, got -1": lambda: concentrated.delta_of(HALF, Fraction(-1)),
    "omega must be above 1, got 1": lambda: concentrated.TruncatedConcentration(HALF, Fraction(1)),
    "need a release of pure or (epsilon, delta)": lambda: generalization.population_error(
        Guarantee.concentrated(HALF, Adjacency.REPLACE), alpha=HALF, beta=HALF, failure=HALF
    ),
    "a group's delta needs an epsilon": lambda: group.group_guarantee(NEVER, 2),
    "each of the three epsilons must be positive": lambda: HoldoutPlan(
        3, (Fraction(0), HALF, HALF), HALF, 1, 3
    ),
    "local must be positive, got 0": lambda: Installation(1, Fraction(0)),
    "a logarithm needs a positive number": lambda: rational_bounds.ln(Fraction(0)),
    "a square root needs a number of at least 0": lambda: rational_bounds.sqrt(Fraction(-1)),
    "a divergence of at least 0 for each of": lambda: renyi.RenyiCurve((Fraction(1),)),
    "epsilon must be at least 0, got -0.5": lambda: shuffle.Crowd.of(
        Fraction(1), reports=100
    ).delta(-0.5),
    "epsilon must be at least 0, got -2": lambda: spending.Limit(Fraction(-2)),
    "delta must lie in [0, 1), got 1": lambda: spending.Limit(HALF, Fraction(1)),
    "worths must have a row a buyer and 2 columns": lambda: Buyers(
        np.zeros((3, 5)), Menu.singles(2)
    ),
    "sigma_squared must be positive, got 0": lambda: GaussianNoise(Fraction(0)),
    "decay must lie in [2^-50, 2^50]": lambda: GeometricNoise(Fraction(0)),
    "got neither": lambda: noise_within(Menu.singles(2), 3),
    "got both": lambda: noise_within(Menu.singles(2), 3, rho=HALF, epsilon="1"),
    "rho must be a Fraction of at least 10^-9": lambda: noise_within(
        Menu.singles(2), 3, rho=Fraction(0)
    ),
    "most must lie in [1, goods = 2], got 3": lambda: Menu.bundles(2, most=3),
    "step must be at least 1 coin, got 0": lambda: PriceGrid.every(1, 9, step=0),
    "makes more than": lambda: PriceGrid.geometric(1, 10**9, ratio=1 + Fraction(1, 10**6)),
    "a guarantee must claim epsilon or rho, got neither": lambda: Guarantee(
        None, None, Fraction(0), Adjacency.REPLACE
    ),
    "epsilon must be at least 0, got -3": lambda: Guarantee(
        Fraction(-3), None, Fraction(0), Adjacency.REPLACE
    ),
    "delta must lie in [0, 1), got 2": lambda: Guarantee(
        HALF, None, Fraction(2), Adjacency.REPLACE
    ),
    "a pmf must bound each of its 2 outcomes, got 1 lower and 2 upper": lambda: Pmf(
        (0, 1), (HALF,), (HALF, HALF)
    ),
    "updates must be at least 1, got 0": lambda: OnlinePlan(DEMAND, SPLIT, 0, 1),
    "three epsilons must be positive": lambda: OnlinePlan(DEMAND, (Fraction(0), HALF, HALF), 1, 1),
    "variance must be positive, got 0": lambda: discrete_gaussian(Fraction(0), 1),
    "this holds for scores of at least 0": lambda: mean_shortfall_by_measure(
        PRIVACY, t=1.0, share=0.5, best_score=1.0, least_score=-1.0
    ),
    "t must be positive, got 0": lambda: mean_shortfall_by_measure(
        PRIVACY, t=0.0, share=0.5, best_score=1.0, least_score=0.0
    ),
    "base_measure must hold integers or Fractions": lambda: checked_measure([HALF, 0.5]),  # type: ignore[arg-type]  # it is what the test is about
    "epsilon must be positive, got 0": lambda: replace(PRIVACY, epsilon=Fraction(0)),
    "epsilon must be positive, got -1": lambda: StabilityTest(Fraction(-1), 5),
    "threshold must be at least 1, got 0": lambda: StabilityTest(HALF, 0),
    "confidence must lie in [0.5, 1), got 1": lambda: StabilityTest(HALF, 5).distance_for(1),
    "agreeing must lie in (1/2, 1], got 1/2": lambda: SampleAggregate(
        StabilityTest(HALF, 5)
    ).blocks_for(0.9, agreeing=HALF),
}
"""What the error says → the call."""


@pytest.mark.deeper
@pytest.mark.slow
def test_what_cannot_be_is_refused_in_the_words_of_the_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = by_tier(1_000, price_grid.MOST_PRICES)  # a grid is refused once it has so many
    monkeypatch.setattr(price_grid, "MOST_PRICES", most)
    said = {words: words in message_of(call) and words for words, call in REFUSED.items()}
    assert said == {words: words for words in REFUSED}


def message_of(call: Callable[[], object]) -> str:
    try:
        call()
    except ValueError as error:
        return str(error)
    return "nothing was refused"


@pytest.mark.parametrize(
    ("limit", "words", "call"),
    [
        (
            "deniable_central.auctions.pricing._MOST_BIDS",
            "bids must be fewer than 2^31",
            lambda: revenue([1, 2], PriceGrid((1, 2))),
        ),
        (
            "deniable_central.auctions.routing.MOST_OPTIONS",
            "roads have 1 paths or more: leave some out",
            lambda: ROADS.menu,
        ),
    ],
)
def test_more_than_a_machine_can_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, words: str, call: Callable[[], object]
) -> None:
    monkeypatch.setattr(limit, 1)
    with pytest.raises(MarketError, match=re.escape(words)):
        call()


def test_noise_that_one_draw_in_e_to_the_1024_has_is_no_integer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniable_central.samplers.noise._LARGEST_NOISE", 1)
    with pytest.raises(OverflowError, match=r"noise of 2\^60 or more"):
        noise._exact_magnitude(Fraction(1), noise.LazyUniform(Coins.system(), bits=0, size=63))


def test_nothing_is_spent_at_no_epsilon_and_no_rho() -> None:
    order = Fraction(2)
    assert renyi.pure_divergence(Fraction(0), order) == 0
    assert renyi.range_divergence(Fraction(0), order) == 0
    assert concentrated.TruncatedConcentration(Fraction(0), order).epsilon("1e-6") == 0


def test_a_group_under_delta_alone_has_as_many_deltas_as_rows() -> None:
    delta = Fraction(1, 1000)
    together = group.group_guarantee(
        Guarantee.approximate(Fraction(0), delta, Adjacency.REPLACE), 3
    )
    assert float(together.delta) == pytest.approx(0.003)


def test_a_curve_follows_from_epsilon_alone_where_no_rho_is_claimed() -> None:
    only = Guarantee(Fraction(1), None, Fraction(0), Adjacency.REPLACE)
    assert renyi.RenyiCurve.of(only) == CURVE
