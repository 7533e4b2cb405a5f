"""The errors of the notes, and of others, that belong to accounts and markets: each is found out.

    id    where      printed, or done                    correct
    E06   notes      three neighbour relations, one ε    add/remove is (2ε, (1 + e^ε)δ)
    E12   slide 16   E[u(x)] ≥ e^ε E[u(x')] for |u| ≤ B  a lie gains ≤ 2B·tanh(ε/2)
    E13   slide 15   prices without end                  a finite grid, or a refusal
    E14   slide 15   u depends on one's own report       only if truth is best at any outcome
    E15   slide 14   second best price $1.00             a tie with $4.00
    E16   slide 18   e^(εq/2r_max)                       e^(εq/r_max): range sensitivity
    E17   slide 25   joint privacy for a single i        for all i, of all that others get
    E18   slide 29   VCG is not envy-free                for unit demand it is
    E19   slide 27   nothing on feasibility              demand exceeds supply, by a bound
    A01   folklore   a group's δ is kδ                   δ(e^(kε) − 1)/(e^ε − 1)
    A02   folklore   J reports cost J·ρ                  J²·ρ
    A03   folklore   one lie too far                     every prefix of lies
    A04   folklore   ρ + √(ρ ln(1/δ))                    ρ + 2√(ρ ln(1/δ)), or less
    A05   folklore   the sign of ln δα                   … − ln(δα)/(α − 1)
    A06   OpenDP     any pure release at ε²/8            ε·tanh(ε/2); ε²/8 for bounded range
    A07   folklore   tCDP converted past ω               orders up to ω only
    A08   folklore   contraction of J by one report's    J·ε0 and J·ε_c
    A09   folklore   contraction of an add/remove ε      2ε first
    A10   everybody  floats, rounded to nearest          rationals, rounded up
    A11   Apple      one end of each block of M          the least M of a block
    A12   folklore   n others, not n − 1                 n people are n − 1 others
    A13   folklore   charged to one epoch                to every epoch that was read
    A14   folklore   test noise of a sparse vector: 1/ε  2cΔ/ε2
    A15   folklore   its answer noise without c          cΔ/ε3
    A16   reference  rows within tanh(ε/2) of all        tanh(ε/4), and reached
    M01   folklore   noise for one good, not two         L1 = 2: one demand falls, one rises
    M02   folklore   the whole budget in every round     ε/T
    M03   folklore   goods taken back if too few         no outcome depends on others' data
    M04   folklore   the last demand shown as it was     only boards are shown
    M05   folklore   Clarke payments for a lottery       with the entropy of the lottery
    M06   reference  payments are jointly private        an exact payment tells: noise
    M07   folklore   every buyer asked in every round    once
    M08   folklore   raw counts of randomized answers    debiased
    M09   folklore   steps as small as may be            the step of the bound

The other errors belong to the other rooms of the central releases and stand in their files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from deniable_aggregator.central.account import (
    Account,
    Budget,
    Charge,
    HoldoutPlan,
    Installation,
    Spending,
    Truncated,
    basic,
    contracted,
    epsilon_of,
    grouped,
    optimal_epsilon,
    promise,
    replaced,
    shuffled_delta,
    simple_epsilon_of,
    transfer_gap,
)
from deniable_aggregator.central.account.shuffle import Crowd, _binomial, _Signs
from deniable_aggregator.central.guarantee import Guarantee, bounded_range_rho
from deniable_aggregator.central.market import (
    AllocationPlan,
    Buyers,
    CohortMarket,
    CohortPlan,
    GeometricNoise,
    Menu,
    Prices,
    PricesError,
    Pricing,
    WelfareLottery,
    allocate_locally,
    cohorts,
    misreport_gain,
    revenue,
)
from deniable_aggregator.central.market.allocation import settled
from deniable_aggregator.central.select import Exponential, declare
from deniable_shared.coins import Coins
from deniable_shared.mechanisms import build
from support.central_account import (
    ADD_REMOVE,
    REPLACE,
    UP,
    check_composes,
    check_contracts,
    check_converts,
    check_group,
    check_group_rho,
    check_replacement,
    check_shuffles,
    hockey_stick,
    randomized_response,
    renyi,
)
from support.central_holdout import check_gap, check_sparse_vector
from support.central_market import (
    BIDS,
    best_responses,
    check_jointly_private,
    check_misreports,
    coarse_billboard,
    posted_price,
    small_pricing,
    tiny_plan,
    vcg,
)

Table = npt.NDArray[Any]
HALF, ONE = Fraction(1, 2), Fraction(1)


def found_out(check: Callable[..., None], *mutant: object, **more: object) -> None:
    with pytest.raises(AssertionError):
        check(*mutant, **more)


def test_e06_add_remove_is_not_replacement() -> None:
    check_replacement(replaced)
    found_out(check_replacement, lambda g: replace(g, adjacency=REPLACE))
    found_out(check_replacement, lambda g: replace(g, epsilon=2 * g.epsilon, adjacency=REPLACE))


def check_gain_on_either_side(bound: Callable[[float], float]) -> None:
    """u = −1 or 1 of the two answers of randomized response, whose truth one may tell or not."""
    for epsilon in (0.1, 1.0, 5.0):
        p, q = randomized_response(epsilon)
        assert (p - q) @ (1, -1) <= bound(epsilon) * UP
        assert (p - q) @ (1, -1) >= 0.99 * bound(epsilon)


def test_e12_a_gain_is_bounded_by_the_whole_range_of_utilities() -> None:
    def shipped(epsilon: float) -> float:
        cost = Guarantee.pure(Fraction(epsilon), REPLACE)
        return float(misreport_gain(cost, lowest=-1, highest=1))

    check_gain_on_either_side(shipped)
    found_out(check_gain_on_either_side, lambda e: math.tanh(e / 2))
    found_out(check_gain_on_either_side, lambda e: e)


def check_refused(grid: Callable[[], object]) -> None:
    with pytest.raises(PricesError, match="name the highest"):
        grid()


def test_e13_prices_end_somewhere() -> None:
    check_refused(lambda: Prices.every(100, 10**30))
    with pytest.raises(pytest.fail.Exception):
        check_refused(lambda: Prices.every(100, 10**6))


def first_price(price: int, bid: int, value: int) -> float:
    """Sold if the bid reaches the price, at the bid."""
    return float(value - bid) if bid >= price else 0.0


def test_e14_the_bound_stands_for_posted_prices_and_not_where_lies_pay_at_a_fixed_outcome() -> None:
    pricing, values = small_pricing("0.2"), (0, 1, 2, 3)
    bound = float(misreport_gain(pricing.guarantee, lowest=0, highest=3))
    check_misreports(bound, posted_price, pricing, values)
    found_out(check_misreports, bound, first_price, pricing, values)


def test_e15_one_dollar_and_four_tie() -> None:
    assert revenue(BIDS, Prices.of([100, 400, 401])).tolist() == [400, 400, 401]


def check_no_noise_is_wasted(law: Exponential) -> None:
    """One bid decides between the prices of 1 and of 50, which earn most by far in either case."""
    prices = Prices.of([1, 50])
    low, high = (law.pmf(revenue([100] * 20 + [b], prices)).probabilities for b in (1, 100))
    assert 0.95 <= float(np.log(low[0] / high[0])) <= 1 + 1e-9


def test_e16_revenues_move_together() -> None:
    check_no_noise_is_wasted(Exponential(Pricing.of(Prices.of([1, 50]), epsilon=1).declaration))
    found_out(check_no_noise_is_wasted, Exponential(declare(epsilon=1, sensitivity=50)))
    found_out(check_no_noise_is_wasted, Exponential(declare(epsilon=1, range_sensitivity=25)))


def rationed(buyers: Buyers, board: Table) -> Sequence[int]:
    """One unit of each good: the first who wants it gets it."""
    taken: list[int] = []
    for choice in best_responses(buyers, board):
        taken.append(0 if choice in taken else choice)
    return taken


def crowded(buyers: Buyers, board: Table) -> Sequence[int]:
    """Everybody is told whether the first buyer bought."""
    choices = list(best_responses(buyers, board))
    return [choice + 10 * (choices[0] > 0) for choice in choices]


def test_e17_m03_m04_outcomes_of_all_others_hide_every_buyer() -> None:
    billboard = tiny_plan(2).billboard
    check_jointly_private(billboard, epsilon=2.0)
    for settle in (rationed, crowded):
        found_out(check_jointly_private, billboard, epsilon=2.0, settle=settle)


def check_envy_free(payments: Callable[[Table], tuple[list[int], list[float]]]) -> None:
    for cells in itertools.product((0.0, 0.5, 1.0), repeat=4):
        worths = np.array(cells).reshape(2, 2)
        taken, paid = payments(worths)
        for i, own in enumerate(taken):
            for other, price in zip(taken, paid, strict=True):
                assert worths[i, other] - price <= worths[i, own] - paid[i] + 1e-9


def test_e18_vcg_is_envy_free_for_unit_demand() -> None:
    check_envy_free(vcg)
    found_out(check_envy_free, lambda worths: (vcg(worths)[0], [0.0, 0.0]))


def check_feasible(excess: Callable[[AllocationPlan], float]) -> None:
    """A hundred buyers who all want the one good, of which there are ten, in 40 markets."""
    menu, rounds = Menu.singles(1), 200
    noise = GeometricNoise(Fraction(1, 20))
    plan = AllocationPlan(100, menu, np.array([10]), rounds, noise)
    buyers = Buyers(np.linspace(0.5, 1.0, 100)[:, None], menu)
    for _ in range(40):
        got = settled(plan.billboard.release(buyers.choose), buyers, rounds, Coins.system())
        assert menu.demand(got.choices)[0] - 10 <= excess(plan)


def test_e19_demand_may_exceed_supply_but_not_by_much() -> None:
    spread = math.sqrt(100 * math.log(1e7) / 2)
    check_feasible(lambda plan: plan.course.over_demand + spread)
    found_out(check_feasible, lambda plan: 0.0)  # but for one run in 10^9


def test_a01_the_delta_of_a_group_grows_faster_than_the_group() -> None:
    check_group(grouped)
    found_out(check_group, lambda g, k: replace(g, epsilon=k * g.epsilon, delta=k * g.delta))


def test_a02_rho_grows_with_the_square_of_the_reports() -> None:
    check_group_rho(grouped)
    found_out(check_group_rho, lambda g, k: replace(g, rho=k * g.rho))


def one_lie_too_far(epsilon: Fraction, releases: int, delta: Fraction) -> Fraction:
    """(k − 2i)ε for the first δ_i above δ, where the last one below it is meant."""
    p = 1 / (1 + math.exp(-epsilon))
    for i in range(releases // 2 + 1):
        target = (releases - 2 * i) * float(epsilon)
        spent = sum(
            math.comb(releases, m)
            * (
                p ** (releases - m) * (1 - p) ** m
                - math.exp(target) * p**m * (1 - p) ** (releases - m)
            )
            for m in range(i)
        )
        if spent > delta:
            return Fraction(target)
    return Fraction(0)


def test_a03_the_optimum_is_neither_below_nor_above() -> None:
    check_composes(lambda e, k, d: optimal_epsilon(e, releases=k, delta=d), tight=0.999)
    found_out(check_composes, one_lie_too_far)
    found_out(check_composes, lambda e, k, d: k * e, tight=0.999)


def test_a04_a05_conversions_are_true_of_gaussians() -> None:
    check_converts(epsilon_of)
    check_converts(simple_epsilon_of)
    found_out(check_converts, lambda rho, d: rho + Fraction(math.sqrt(-rho * math.log(d))))
    found_out(check_converts, lambda rho, d: 3 * rho + Fraction(math.log(0.5) + math.log(3 * d)))


def check_rho_of_pure(cost: Callable[[Guarantee], Fraction]) -> None:
    """D_α ≤ ρα for randomized response, which any pure release may be."""
    for epsilon in (0.2, 1.0, 4.0):
        rho = float(cost(Guarantee.pure(Fraction(epsilon), REPLACE)))
        for alpha in (1.01, 2.0, 8.0):
            assert renyi(*randomized_response(epsilon), alpha) <= rho * alpha * UP


def test_a06_only_bounded_range_is_charged_an_eighth() -> None:
    check_rho_of_pure(lambda g: Spending.of(g).rho)
    found_out(check_rho_of_pure, lambda g: bounded_range_rho(g.epsilon))


def check_truncated(epsilon: Callable[[Fraction, Fraction, Fraction], Fraction]) -> None:
    """A loss of 20 with probability 10^−6: D_α of that pair is moderate up to α = 2."""
    p, q = np.array([1 - 1e-6, 1e-6]), np.array([1 - 1e-6 * math.exp(-20), 1e-6 * math.exp(-20)])
    rho = max(renyi(p, q, a) / a for a in np.linspace(1.001, 2, 1000).tolist())
    for delta in (1e-7, 1e-6, 1e-4):
        bound = epsilon(Fraction(rho), Fraction(2), Fraction(delta))
        assert hockey_stick(p, q, float(bound)) <= delta


def test_a07_truncation_stops_at_omega() -> None:
    check_truncated(lambda rho, omega, delta: Truncated(rho, omega).epsilon(delta))
    found_out(check_truncated, lambda rho, omega, delta: epsilon_of(rho, delta))


def check_three_reports(true_values: Callable[[], Guarantee]) -> None:
    """Three answers that are all alike, and a release that reads all three."""
    p, q = (np.array([law[0] ** 3, 1 - law[0] ** 3]) for law in randomized_response(1.0))
    one, zero = randomized_response(1.5)
    pair = p[0] * one + p[1] * zero, q[0] * one + q[1] * zero
    bound = true_values().epsilon
    assert bound is not None
    assert hockey_stick(*pair, float(bound)) <= 1e-12


def test_a08_three_reports_contract_as_three() -> None:
    release = Guarantee.pure(HALF, REPLACE)
    three = Installation.fresh(epochs=3, report=1, lifetime=3)
    check_three_reports(lambda: promise(release, three, read="releases").true_values)
    found_out(check_three_reports, lambda: contracted(release, local=1))


def check_contracts_added(contracts: Callable[[Guarantee, Fraction], Guarantee]) -> None:
    """A release that tells one row from none by e^½, and one row from another by e."""
    central = np.array([[1.0, 0.0], [0.0, 1.0]]) @ np.array(randomized_response(1.0))
    pair = randomized_response(1.0)
    laws = pair[0] @ central, pair[1] @ central
    bound = contracts(Guarantee.pure(HALF, ADD_REMOVE), ONE).epsilon
    assert bound is not None
    assert hockey_stick(*laws, float(bound)) <= 1e-12


def test_a09_contraction_is_about_replacement() -> None:
    check_contracts_added(lambda g, local: contracted(g, local=local))
    found_out(
        check_contracts_added,
        lambda g, local: contracted(replace(g, adjacency=REPLACE), local=local),
    )
    check_contracts(lambda g, local: contracted(g, local=local))
    found_out(check_contracts, lambda g, local: contracted(g, local=local / 2))


def check_rounded_up(epsilon: Callable[[Fraction, Fraction], Fraction]) -> None:
    """ln((e^(a + b) + 1)/(e^a + e^b)) to 60 digits is at most what is stated, for 100 pairs."""
    with localcontext(prec=60):
        for a, b in itertools.product(range(1, 11), repeat=2):
            x, y = (Decimal(n) / 7 for n in (a, b))
            exact = (((x + y).exp() + 1) / (x.exp() + y.exp())).ln()
            stated = epsilon(Fraction(a, 7), Fraction(b, 7))
            assert Fraction(exact) - Fraction(1, 10**50) <= stated


def test_a10_bounds_are_rounded_up() -> None:
    def shipped(a: Fraction, b: Fraction) -> Fraction:
        return contracted(Guarantee.pure(a, REPLACE), local=b).epsilon or Fraction(0)

    check_rounded_up(shipped)
    found_out(
        check_rounded_up, lambda a, b: Fraction(2 * math.atanh(math.tanh(a / 2) * math.tanh(b / 2)))
    )


def in_blocks(epsilon: float, local: Fraction, reports: int, *, end: int) -> float:
    """δ of a crowd in blocks of up to five M, each at its least (0) or its largest (4)."""
    crowd = Crowd.of(local, reports=reports)
    first, chances = _binomial(reports - 1, 1 - crowd.t)
    starts = np.arange(0, len(chances), 5)
    blocks = tuple(_Signs.of(1 + first + int(s) + end) for s in starts)
    return Crowd(local, crowd.t, np.add.reduceat(chances, starts), blocks).delta(epsilon)


def check_never_below(delta: Callable[[float, Fraction, int], float]) -> None:
    for epsilon, local in itertools.product((0.0, 0.05, 0.5), (ONE, Fraction(4))):
        assert delta(epsilon, local, 30) >= shuffled_delta(epsilon, local=local, reports=30) * 0.999


def test_a11_blocks_are_counted_at_the_end_that_hides_least() -> None:
    check_never_below(lambda e, local, n: in_blocks(e, local, n, end=0))
    found_out(check_never_below, lambda e, local, n: in_blocks(e, local, n, end=4))


def test_a12_a_crowd_of_n_is_n_minus_one_others() -> None:
    check_shuffles(lambda e, local, n: shuffled_delta(e, local=local, reports=n))
    found_out(check_shuffles, lambda e, local, n: shuffled_delta(e, local=local, reports=n + 1))
    found_out(check_shuffles, lambda e, local, n: max(0.0, math.tanh(local / 2) - math.tanh(e / 2)))


def check_charged(spent: Callable[[Account, int], Spending]) -> None:
    """Two releases, which read epochs 1 and 2, and epoch 2."""
    account = Account(Budget(ONE, ONE, reports=1))
    for epochs in ({1, 2}, {2}):
        account = account.charged(Charge("r", frozenset(epochs), Guarantee.pure(HALF, REPLACE)))
    assert [spent(account, epoch).epsilon for epoch in (1, 2)] == [HALF, ONE]


def test_a13_every_epoch_read_is_charged() -> None:
    def first_epoch_only(account: Account, epoch: int) -> Spending:
        first = [c for c in account.charges if min(c.epochs) == epoch]
        return Spending.of(basic(c.guarantee for c in first))

    check_charged(Account.spent)
    found_out(check_charged, first_epoch_only)


SPLIT = (Fraction(1, 4), Fraction(3, 2), Fraction(1, 4))


def test_a14_a15_noise_grows_with_what_may_be_corrected() -> None:
    plan = HoldoutPlan(3, SPLIT, HALF, 2, 3)
    of_threshold, of_test, of_answer = plan.decays
    check_sparse_vector(plan.decays, plan.threshold, 2, epsilon=2.0)
    for decays in (
        (of_threshold, SPLIT[1], of_answer),
        (of_threshold, SPLIT[1] / 2, of_answer),
        (of_threshold, of_test, 4 * SPLIT[2]),
    ):
        found_out(check_sparse_vector, decays, plan.threshold, 2, epsilon=2.0)


def test_a16_the_gap_to_the_population_is_reached() -> None:
    check_gap(transfer_gap)
    found_out(check_gap, lambda epsilon: math.tanh(epsilon / 2))
    found_out(check_gap, lambda epsilon: math.tanh(epsilon / 5))


@pytest.mark.parametrize("decay", [Fraction(1), Fraction(2)], ids=["L1 = 1", "ε each round"])
def test_m01_m02_noise_is_for_both_goods_and_all_rounds(decay: Fraction) -> None:
    check_jointly_private(coarse_billboard(2), epsilon=2.0)
    louder = replace(coarse_billboard(2), noise=GeometricNoise(decay))
    found_out(check_jointly_private, louder, epsilon=2.0)


Payments = Callable[[WelfareLottery, Table], Sequence[float]]


def check_truthful(payments: Payments) -> None:
    """Two bidders, two outcomes: no report of 0, ½ or 1 each beats the truth."""
    lottery, other = WelfareLottery.of(epsilon=2, scale=2), (1, 2)
    reports = list(itertools.product(range(3), repeat=2))
    for truth in reports:
        honest = None
        for report in (truth, *reports):
            values = np.array([report, other])
            value = float(lottery.expected_value(values, np.array(truth)))
            surplus = value - payments(lottery, values)[0]
            honest = surplus if honest is None else honest
            assert surplus <= honest + 1e-12


def clarke(lottery: WelfareLottery, values: Table) -> Sequence[float]:
    """What the others lose by one's being there, on average."""
    others = values[1]
    alone = lottery.pmf(others[None]).probabilities
    return [float(alone @ others - lottery.pmf(values).probabilities @ others) / lottery.scale]


def test_m05_a_lottery_needs_payments_of_its_own() -> None:
    check_truthful(lambda lottery, values: [float(p) for p in lottery.payments(values)])
    found_out(check_truthful, clarke)
    found_out(check_truthful, lambda lottery, values: [0.0])


def check_payment_private(paid: Callable[[WelfareLottery, list[list[int]]], Fraction]) -> None:
    """Among 20 payments of each of two neighbours some values coincide in law: none is constant."""
    lottery = WelfareLottery.of(epsilon=1, scale=1)
    seen = [{paid(lottery, [[1, 0], [said, 0]]) for _ in range(20)} for said in (0, 1)]
    assert all(len(values) > 1 for values in seen)


def test_m06_an_exact_payment_tells() -> None:
    check_payment_private(lambda lottery, v: lottery.noisy_payments(v, epsilon=1)[0])
    found_out(check_payment_private, lambda lottery, v: lottery.payments(v)[0])


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


def test_m07_every_buyer_answers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(cohorts, "build", lambda *_, **__: asked)
    allocate_locally(np.full((60, 2), 0.5), 10, epsilon=2, rounds=7)
    assert asked.times == 60


def check_unbiased(demand: Callable[[CohortMarket, Table], Table]) -> None:
    """A quarter of 400 buyers, of whom 30 want the first good and 20 the second."""
    mechanism = build("grr/1", domain_size=3, epsilon=2)
    market = CohortMarket(CohortPlan(400, Menu.singles(2), np.array([50, 50]), 4, mechanism))
    table = np.full((3, 3), float(mechanism.q))
    np.fill_diagonal(table, float(mechanism.p))
    expected = np.rint(np.array([50, 30, 20]) @ table * 10**9).astype(np.int64)
    assert demand(market, expected) == pytest.approx([120, 80], rel=1e-6)


def test_m08_randomized_answers_are_debiased() -> None:
    check_unbiased(CohortMarket._demand)
    found_out(check_unbiased, lambda market, counts: counts[1:] / counts.sum() * 400)


def test_m09_a_step_too_small_breaks_the_bound() -> None:
    def check_regret(slowed: float) -> None:
        menu, rounds = Menu.singles(1), 2_000
        noise = GeometricNoise(Fraction(20))
        plan = AllocationPlan(100, menu, np.array([10]), rounds, noise)
        buyers = Buyers(np.linspace(0.5, 1.0, 100)[:, None], menu)
        billboard = replace(
            plan.billboard, update=lambda p, d: p + slowed * (plan.course.next(p, d) - p)
        )
        boards = billboard.release(buyers.choose).result[rounds // 2 : rounds]
        demand = float(np.mean([menu.demand(buyers.choose(board))[0] for board in boards]))
        assert demand - 10 <= plan.course.over_demand

    check_regret(1.0)
    found_out(check_regret, 1e-4)
