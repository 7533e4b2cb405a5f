"""Known mistakes about auctions, and checks that only they need.

The table is in `tests/central/test_errors_of_accounting_and_auctions.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.auctions import (
    Allocation,
    AllocationPlan,
    Buyers,
    DemandNoise,
    GaussianNoise,
    GeometricNoise,
    LocalAllocationPlan,
    Menu,
    PriceGrid,
    PricesError,
    Pricing,
    WelfareLottery,
    allocate_locally,
    local_allocation,
    misreport_gain,
    noise_within,
    revenue,
    revenue_offsets,
)
from deniable_central.auctions.allocation import settle
from deniable_central.guarantee import Guarantee
from deniable_central.selection import Exponential, PrivacyParameters
from deniable_shared.mechanisms import build
from deniable_shared.randomness.coins import Coins
from support.oracles.central_accounting import REPLACE, UP, randomized_response
from support.oracles.central_auctions import (
    BIDS,
    Settle,
    best_responses,
    check_jointly_concentrated,
    check_jointly_private,
    check_misreports,
    coarse_billboard,
    small_pricing,
    tiny_plan,
    vcg,
)

Table = npt.NDArray[Any]


def gain_of_a_lie(epsilon: float) -> float:
    cost = Guarantee.pure(Fraction(epsilon), REPLACE)
    return float(misreport_gain(cost, lowest=-1, highest=1))


def check_gain_on_either_side(bound: Callable[[float], float]) -> None:
    """u = −1 or 1 for the two answers of randomized response, whose truth one may report or not."""
    for epsilon in (0.1, 1.0, 5.0):
        p, q = randomized_response(epsilon)
        assert (p - q) @ (1, -1) <= bound(epsilon) * UP
        assert (p - q) @ (1, -1) >= 0.99 * bound(epsilon)


def the_first_thousand(prices: Iterable[int]) -> PriceGrid:
    return PriceGrid.of(itertools.islice(prices, 1_000))


def check_refuses_endless_prices(grid: Callable[[Iterable[int]], PriceGrid]) -> None:
    with pytest.raises(PricesError, match=r"1 to 1,000,000, got more"):
        grid(itertools.count(100))


def first_price(price: int, bid: int, value: int) -> float:
    """Sold if the bid reaches the price, at the bid."""
    return float(value - bid) if bid >= price else 0.0


def check_sale(sale: Callable[[int, int, int], float]) -> None:
    pricing = small_pricing("0.2")
    bound = float(misreport_gain(pricing.guarantee, lowest=0, highest=3))
    check_misreports(bound, sale, pricing, (0, 1, 2, 3))


def sold_above_the_price(bids: Sequence[int], prices: PriceGrid) -> Table:
    grid = prices.as_array()
    scores: Table = grid * (np.array(bids) > grid[:, None]).sum(axis=1)
    return scores


def check_example_prices(revenues: Callable[[Sequence[int], PriceGrid], Table]) -> None:
    """$4.01 is best, $1.00 and $4.00 are second alike, $1.01 and $4.02 lose."""
    prices = PriceGrid.of([100, 101, 400, 401, 402])
    assert revenues(BIDS, prices).tolist() == [400, 101, 400, 401, 0]


TWO_PRICES = PriceGrid.of([1, 50])
OF_REVENUE = Pricing.of(TWO_PRICES, epsilon=1).privacy


def check_no_noise_is_wasted(privacy: PrivacyParameters) -> None:
    """One bid decides between the prices of 1 and of 50, which earn most by far in either case."""
    law = Exponential(privacy)
    low, high = (law.pmf(revenue([100] * 20 + [b], TWO_PRICES)).probabilities for b in (1, 100))
    assert 0.95 <= float(np.log(low[0] / high[0])) <= 1 + 1e-9


def rationed(buyers: Buyers, board: Table) -> Sequence[int]:
    """One unit of each good: the first who wants it gets it."""
    taken: list[int] = []
    for choice in best_responses(buyers, board):
        taken.append(0 if choice in taken else choice)
    return taken


def crowded(buyers: Buyers, board: Table) -> Sequence[int]:
    """All players learn whether the first buyer bought."""
    choices = list(best_responses(buyers, board))
    return [choice + 10 * (choices[0] > 0) for choice in choices]


def for_the_second(buyers: Buyers, board: Table) -> Sequence[int]:
    """The second buyer learns nothing of the first, but the first learns all of the second."""
    mine, theirs = best_responses(buyers, board)
    return [mine + 10 * theirs, theirs]


def check_settled(settle: Settle) -> None:
    check_jointly_private(tiny_plan(2).billboard, epsilon=2.0, settle=settle)


def free_of_charge(worths: Table) -> tuple[list[int], list[float]]:
    return vcg(worths)[0], [0.0] * len(worths)


def check_envy_free(payments: Callable[[Table], tuple[list[int], list[float]]]) -> None:
    for cells in itertools.product((0.0, 0.5, 1.0), repeat=4):
        worths = np.array(cells).reshape(2, 2)
        taken, paid = payments(worths)
        for i, own in enumerate(taken):
            for other, price in zip(taken, paid, strict=True):
                assert worths[i, other] - price <= worths[i, own] - paid[i] + 1e-9


def crowd_for_one_good(rounds: int, decay: Fraction) -> tuple[AllocationPlan, Buyers]:
    """A hundred buyers who all want the one good, of which there are ten."""
    menu = Menu.singles(1)
    plan = AllocationPlan(100, menu, np.array([10]), rounds, GeometricNoise(decay))
    return plan, Buyers(np.linspace(0.5, 1.0, 100)[:, None], menu)


def within_the_bound(plan: AllocationPlan) -> float:
    """But for one good's demand in 10^7."""
    return plan.course.over_demand + math.sqrt(plan.buyers * math.log(1e7) / 2)


def check_feasible(excess: Callable[[AllocationPlan], float]) -> None:
    """Of forty markets, in about half of which demand is above its supply."""
    plan, buyers = crowd_for_one_good(200, Fraction(1, 20))
    for _ in range(40):
        released = plan.billboard.release(buyers.choose)
        got = settle(released, buyers, plan.rounds, Coins.system())
        assert buyers.menu.demand(got.choices)[0] - 10 <= excess(plan)


def check_decay(decay: Fraction) -> None:
    """Two goods, two rounds, ε = 2."""
    billboard = replace(coarse_billboard(2), noise=GeometricNoise(decay))
    check_jointly_private(billboard, epsilon=2.0)


FOR_ONE_ROUND = GaussianNoise(Fraction(1))
WITHIN_ONE = noise_within(Menu.singles(2), 2, rho=Fraction(1))


def check_variance(noise: DemandNoise) -> None:
    """Two goods, two rounds, ρ = 1."""
    check_jointly_concentrated(replace(coarse_billboard(2), noise=noise), rho=Fraction(1))


Payments = Callable[[WelfareLottery, Table], Sequence[float]]


def check_truthful(payments: Payments) -> None:
    """Two bidders, two outcomes: no report of 0, ½ or 1 each beats the truth."""
    lottery, other = WelfareLottery.of(epsilon=2, scale=2), (1, 2)
    reports = list(itertools.product(range(3), repeat=2))
    for truth in reports:
        surplus = {}
        for report in reports:
            values = np.array([report, other])
            value = float(lottery.expected_value(values, np.array(truth)))
            surplus[report] = value - payments(lottery, values)[0]
        assert max(surplus.values()) <= surplus[truth] + 1e-12


def exactly_truthful(lottery: WelfareLottery, values: Table) -> Sequence[float]:
    return [float(payment) for payment in lottery.payments(values)]


def clarke(lottery: WelfareLottery, values: Table) -> Sequence[float]:
    """What the others lose on average because one takes part."""
    others = values[1]
    alone = lottery.pmf(others[None]).probabilities
    return [float(alone @ others - lottery.pmf(values).probabilities @ others) / lottery.scale]


def nothing_to_pay(lottery: WelfareLottery, values: Table) -> Sequence[float]:
    return [0.0]


def one_noisy(lottery: WelfareLottery, values: Sequence[Sequence[int]]) -> Fraction:
    return lottery.noisy_payments(values, epsilon=1)[0]


def one_exact(lottery: WelfareLottery, values: Sequence[Sequence[int]]) -> Fraction:
    return lottery.payments(values)[0]


def check_payment_private(
    paid: Callable[[WelfareLottery, Sequence[Sequence[int]]], Fraction],
) -> None:
    """Among 20 payments of each of two neighbours none is all there is."""
    lottery = WelfareLottery.of(epsilon=1, scale=1)
    seen = [{paid(lottery, [[1, 0], [said, 0]]) for _ in range(20)} for said in (0, 1)]
    assert all(len(values) > 1 for values in seen)


class Asked:
    """A mechanism that counts how often it is used."""

    def __init__(self) -> None:
        self.times = 0
        self._inner = build("grr/1", domain_size=3, epsilon=2)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def randomize(self, value: int, coins: Coins) -> bytes:
        self.times += 1
        return self._inner.randomize(value, coins)


def once_each(worths: Table, supply: int) -> Allocation:
    return allocate_locally(worths, supply, epsilon=2, rounds=7)


def every_round(worths: Table, supply: int) -> Allocation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "array_split", lambda order, rounds: [order] * rounds)
        return once_each(worths, supply)


def check_asked_once(market: Callable[[Table, int], Allocation]) -> None:
    mechanism = Asked()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_allocation, "build", lambda *_, **__: mechanism)
        market(np.full((60, 2), 0.5), 10)
    assert mechanism.times == 60


def raw_demand(plan: LocalAllocationPlan, counts: Table) -> Table:
    demand: Table = counts[1:] / counts.sum() * plan.buyers
    return demand


def check_unbiased(demand: Callable[[LocalAllocationPlan, Table], Table]) -> None:
    """A quarter of 400 buyers, of whom 30 want the first good and 20 the second."""
    mechanism = build("grr/1", domain_size=3, epsilon=2)
    plan = LocalAllocationPlan(400, Menu.singles(2), np.array([50, 50]), 4, mechanism)
    table = np.full((3, 3), float(mechanism.q))
    np.fill_diagonal(table, float(mechanism.p))
    expected = np.rint(np.array([50, 30, 20]) @ table * 10**9).astype(np.int64)
    assert demand(plan, expected) == pytest.approx([120, 80], rel=1e-6)


def check_step(slowed: float) -> None:
    plan, buyers = crowd_for_one_good(2_000, Fraction(20))
    course = plan.course
    billboard = replace(
        plan.billboard, update=lambda p, demand: p + slowed * (course.next(p, demand) - p)
    )
    boards = billboard.release(buyers.choose).result[1_000:2_000]
    demand = float(np.mean([buyers.menu.demand(buyers.choose(board))[0] for board in boards]))
    assert demand - 10 <= course.over_demand


def no_offsets(values: Sequence[int], prices: PriceGrid, *, reports: int, q: Fraction) -> Table:
    return np.zeros(len(prices.grid), dtype=np.int64)


def check_offsets(offsets: Callable[..., Table] = revenue_offsets) -> None:
    """A thousand people who would pay 3 of 1, 2 or 3, each through randomized response at ε = ½."""
    prices, law = PriceGrid.of([1, 2, 3]), build("grr/1", domain_size=4, epsilon="0.5")
    tally = [1_000 * float(law.q)] * 3 + [1_000 * float(law.p)]
    raw = np.array([price * sum(tally[price:]) for price in prices.grid])
    scores = raw - offsets((0, 1, 2, 3), prices, reports=1_000, q=law.q)
    assert scores / float(law.p - law.q) == pytest.approx([1_000, 2_000, 3_000], rel=0.02)
