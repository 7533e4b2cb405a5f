"""Known mistakes about accounts and auctions, from lecture notes, papers and other libraries.

Each row: the mistake in a sentence, how it was printed or done, what is correct, the check, what
we ship, the mutants. The check passes on what we ship and fails on each mutant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from deniable_central.accounting import (
    Account,
    Spending,
    TruncatedConcentration,
    epsilon_of,
    group_guarantee,
    optimal_epsilon,
    replacement_guarantee,
    transfer_gap,
)
from deniable_central.auctions import (
    LocalAllocationPlan,
    PriceGrid,
    revenue,
    revenue_offsets,
)
from deniable_central.guarantee import bounded_range_rho
from deniable_central.selection import privacy_parameters
from support.mutants import accounting as a
from support.mutants import auctions as m
from support.oracles import central_accounting as accounts
from support.oracles import central_auctions as markets
from support.oracles.central_holdout import check_gap

pytestmark = pytest.mark.exhaustive


@dataclass(frozen=True)
class Mistake:
    mistake: str
    printed: str
    correct: str
    check: Callable[[Any], None]
    shipped: Any
    mutants: tuple[Any, ...]


TABLE = [
    Mistake(
        "epsilon for adding a row is used for replacing a row",
        "three neighbour relations, one ε",
        "add/remove is (2ε, (1 + e^ε)δ) under replace",
        accounts.check_replacement,
        replacement_guarantee,
        (a.under_replace, a.twice_epsilon_and_delta_as_it_was),
    ),
    Mistake(
        "a lie is said to gain half of what it can, or more than it can",
        "E[u(x)] ≥ e^ε E[u(x')] for |u| ≤ B",
        "a lie gains at most 2B·tanh(ε/2), and may gain that",
        m.check_gain_on_either_side,
        m.gain_of_a_lie,
        (lambda e: math.tanh(e / 2), lambda e: e),
    ),
    Mistake(
        "an endless list of prices is accepted",
        "prices 1.00, 1.01, … without end",
        "a finite grid, or a refusal",
        m.check_refuses_endless_prices,
        PriceGrid.of,
        (m.the_first_thousand,),
    ),
    Mistake(
        "the buyer pays the bid instead of the price",
        "u depends on one's own report",
        "only if the truth is best at any fixed outcome",
        m.check_sale,
        markets.posted_price,
        (m.first_price,),
    ),
    Mistake(
        "a bid that equals the price does not buy",
        "second best price: $1.00",
        "a tie with $4.00",
        m.check_example_prices,
        revenue,
        (m.sold_above_the_price,),
    ),
    Mistake(
        "revenue gets twice the noise that it needs",
        "e^(εq/2r_max)",
        "e^(εq/r_max): all revenues move together, by r_max at most",
        m.check_no_noise_is_wasted,
        m.OF_REVENUE,
        (
            privacy_parameters(epsilon=1, sensitivity=50),
            privacy_parameters(epsilon=1, range_sensitivity=25),
        ),
    ),
    Mistake(
        "joint privacy protects one of two buyers",
        "joint privacy for a single i",
        "for all i, of all that the others get",
        m.check_settled,
        markets.best_responses,
        (m.for_the_second,),
    ),
    Mistake(
        "the auction takes no payments, so buyers envy each other",
        "VCG is not envy-free",
        "for unit demand it is, by its payments",
        m.check_envy_free,
        markets.vcg,
        (m.free_of_charge,),
    ),
    Mistake(
        "demand is said never to exceed supply",
        "the averaged allocation is feasible, it is left to think",
        "demand exceeds supply, by no more than a bound",
        m.check_feasible,
        m.within_the_bound,
        (lambda plan: 0.0,),  # passes once in 10^9 runs
    ),
    Mistake(
        "delta of a group of k is k times delta of one person",
        "a group's δ is kδ",
        "δ(e^(kε) − 1)/(e^ε − 1)",
        accounts.check_group,
        group_guarantee,
        (a.delta_times_the_group,),
    ),
    Mistake(
        "rho of k reports is k times rho of one report",
        "J reports cost J·ρ",
        "J²·ρ",
        accounts.check_group_rho,
        group_guarantee,
        (a.rho_times_the_group,),
    ),
    Mistake(
        "a composition stops one lie too far, or is a plain sum",
        "composed at one lie too far, or by adding up",
        "the last (k − 2i)ε whose δ_i is at most δ, or between",
        partial(accounts.check_composes, tight=0.999),
        lambda e, k, d: optimal_epsilon(e, releases=k, delta=d),
        (a.one_lie_too_far, lambda e, k, d: k * e),
    ),
    Mistake(
        "the root in the conversion of rho lacks its factor 2",
        "ρ + √(ρ ln(1/δ))",
        "ρ + 2√(ρ ln(1/δ)), or less",
        accounts.check_converts,
        epsilon_of,
        (a.half_the_root,),
    ),
    Mistake(
        "the logarithm in the conversion of rho has the wrong sign",
        "… + ln(δα)/(α − 1)",
        "… − ln(δα)/(α − 1)",
        accounts.check_converts,
        epsilon_of,
        (a.sign_of_the_logarithm,),
    ),
    Mistake(
        "any pure release is charged the rho of a bounded-range release",
        "any pure release at ε²/8",
        "ε·tanh(ε/2); ε²/8 for bounded range only",
        a.check_rho_of_pure,
        lambda g: Spending.of(g).rho,
        (lambda g: bounded_range_rho(g.epsilon),),
    ),
    Mistake(
        "truncated concentration is converted at orders above its limit",
        "tCDP converted at orders past ω",
        "orders up to ω only",
        a.check_truncated,
        lambda rho, omega, delta: TruncatedConcentration(rho, omega).epsilon(delta),
        (lambda rho, omega, delta: epsilon_of(rho, delta),),
    ),
    Mistake(
        "three reports contract as much as one report",
        "J reports contract as one does",
        "by J·ε0 and J·ε_c",
        a.check_three_reports,
        a.of_three_reports,
        (a.of_one_report,),
    ),
    Mistake(
        "contraction forgets that replacing a row costs double, or takes half of the local epsilon",
        "an add/remove ε contracts as it is, or by half of ε0",
        "2ε first, and by all of ε0",
        a.check_contracts_either,
        a.contracts,
        (
            lambda g, local: a.contracts(a.under_replace(g), local),
            lambda g, local: a.contracts(g, local / 2),
        ),
    ),
    Mistake(
        "epsilon is computed in floats and rounded to nearest",
        "floats, rounded to nearest",
        "rationals, rounded up",
        a.check_rounded_up,
        a.in_rationals,
        (a.in_floats,),
    ),
    Mistake(
        "a block of the shuffling bound takes the end that hides most",
        "the larger end of each block of M",
        "the end that hides least",
        a.check_never_below,
        partial(a.in_blocks, end=0),
        (partial(a.in_blocks, end=4),),
    ),
    Mistake(
        "a shuffled crowd counts one person too many, or only one",
        "n others hide one, or nobody does",
        "n people are n − 1 others",
        accounts.check_shuffles,
        a.of_a_crowd,
        (a.of_the_others, a.of_nobody_else),
    ),
    Mistake(
        "a release is charged to its first epoch alone",
        "charged to the first epoch",
        "to every epoch that was read",
        a.check_charged,
        Account.spent,
        (a.first_epoch_only,),
    ),
    Mistake(
        "the test noise of a sparse vector ignores the number of answers",
        "test noise of a sparse vector: 1/ε2, or 2/ε2",
        "2cΔ/ε2",
        a.check_holdout,
        a.HOLDOUT.decays,
        (a.TEST_ALONE, a.TEST_OF_ONE),
    ),
    Mistake(
        "the answer noise of a sparse vector ignores the number of answers",
        "its answer noise without c",
        "cΔ/ε3",
        a.check_holdout,
        a.HOLDOUT.decays,
        (a.ANSWER_OF_ONE,),
    ),
    Mistake(
        "the gap between rows and population is overstated, or understated",
        "rows are within tanh(ε/2) of the population",
        "tanh(ε/4), and reached",
        check_gap,
        transfer_gap,
        (lambda epsilon: math.tanh(epsilon / 2), lambda epsilon: math.tanh(epsilon / 5)),
    ),
    Mistake(
        "noise covers one good, though a changed demand moves two",
        "noise for one good: L1 = 1",
        "L1 = 2: one demand falls, another rises",
        m.check_decay,
        Fraction(1, 2),
        (Fraction(1),),
    ),
    Mistake(
        "every round spends the whole budget",
        "the whole budget in every round",
        "decay ε/(T·L1)",
        m.check_decay,
        Fraction(1, 2),
        (Fraction(2),),
    ),
    Mistake(
        "scarce goods go to the first buyer who wants them",
        "goods taken back where they do not suffice",
        "no outcome depends on others' data",
        m.check_settled,
        markets.best_responses,
        (m.rationed,),
    ),
    Mistake(
        "every buyer learns whether the first one bought",
        "everybody told who bought",
        "only boards are shown",
        m.check_settled,
        markets.best_responses,
        (m.crowded,),
    ),
    Mistake(
        "the lottery takes Clarke payments, or none",
        "Clarke payments for a lottery, or none",
        "payments with the entropy of the lottery",
        m.check_truthful,
        m.exactly_truthful,
        (m.clarke, m.nothing_to_pay),
    ),
    Mistake(
        "a payment is exact",
        "payments are jointly private",
        "an exact payment tells its payer about the others: noise",
        m.check_payment_private,
        m.one_noisy,
        (m.one_exact,),
    ),
    Mistake(
        "every buyer is asked in every round",
        "every buyer asked in every round",
        "once",
        m.check_asked_once,
        m.once_each,
        (m.every_round,),
    ),
    Mistake(
        "demand is read from randomized answers without debiasing",
        "demand from raw counts of randomized answers",
        "debiased",
        m.check_unbiased,
        LocalAllocationPlan.demand,
        (m.raw_demand,),
    ),
    Mistake(
        "prices move in steps far smaller than the bound assumes",
        "steps as small as may be",
        "the step of the bound",
        m.check_step,
        1.0,
        (1e-4,),
    ),
    Mistake(
        "Gaussian noise is sized for one round",
        "σ² = L2²/2ρ, for one round",
        "σ² = T·L2²/2ρ",
        m.check_variance,
        m.WITHIN_ONE,
        (m.FOR_ONE_ROUND,),
    ),
    Mistake(
        "revenue of randomized bids is not corrected for untrue answers",
        "revenues of raw counts of randomized bids",
        "less r·n·q·K_r, what untrue answers add",
        m.check_offsets,
        revenue_offsets,
        (m.no_offsets,),
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.mistake)
def test_the_check_passes_on_what_we_ship_and_fails_on_the_mistake(row: Mistake) -> None:
    row.check(row.shipped)
    for mutant in row.mutants:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            row.check(mutant)


def test_every_mistake_has_a_sentence_of_its_own() -> None:
    assert len({row.mistake for row in TABLE}) == len(TABLE)
