"""The errors of the notes, and of others, that belong to accounts and markets, as mutants.

Each row: its number in the reference (A and M are of accounts and markets, and not in the notes),
where it stands, what was printed or done, what is correct, the check, what we ship, the mutants.
The check passes on what we ship and fails on each mutant. The other errors belong to the other
rooms of the central releases and stand in their files.
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
class SeedError:
    number: str
    where: str
    printed: str
    correct: str
    check: Callable[[Any], None]
    shipped: Any
    mutants: tuple[Any, ...]


TABLE = [
    SeedError(
        "E06",
        "notes",
        "three neighbour relations, one ε",
        "add/remove is (2ε, (1 + e^ε)δ) under replace",
        accounts.check_replacement,
        replacement_guarantee,
        (a.under_replace, a.twice_epsilon_and_delta_as_it_was),
    ),
    SeedError(
        "E12",
        "slide 16",
        "E[u(x)] ≥ e^ε E[u(x')] for |u| ≤ B",
        "a lie gains at most 2B·tanh(ε/2), and may gain that",
        m.check_gain_on_either_side,
        m.gain_of_a_lie,
        (lambda e: math.tanh(e / 2), lambda e: e),
    ),
    SeedError(
        "E13",
        "slide 15",
        "prices 1.00, 1.01, … without end",
        "a finite grid, or a refusal",
        m.check_refuses_endless_prices,
        PriceGrid.of,
        (m.the_first_thousand,),
    ),
    SeedError(
        "E14",
        "slide 15",
        "u depends on one's own report",
        "only if the truth is best at any fixed outcome",
        m.check_sale,
        markets.posted_price,
        (m.first_price,),
    ),
    SeedError(
        "E15",
        "slide 14",
        "second best price: $1.00",
        "a tie with $4.00",
        m.check_slide,
        revenue,
        (m.sold_above_the_price,),
    ),
    SeedError(
        "E16",
        "slide 18",
        "e^(εq/2r_max)",
        "e^(εq/r_max): all revenues move together, by r_max at most",
        m.check_no_noise_is_wasted,
        m.OF_REVENUE,
        (
            privacy_parameters(epsilon=1, sensitivity=50),
            privacy_parameters(epsilon=1, range_sensitivity=25),
        ),
    ),
    SeedError(
        "E17",
        "slide 25",
        "joint privacy for a single i",
        "for all i, of all that the others get",
        m.check_settled,
        markets.best_responses,
        (m.for_the_second,),
    ),
    SeedError(
        "E18",
        "slide 29",
        "VCG is not envy-free",
        "for unit demand it is, by its payments",
        m.check_envy_free,
        markets.vcg,
        (m.free_of_charge,),
    ),
    SeedError(
        "E19",
        "slide 27",
        "the averaged allocation is feasible, it is left to think",
        "demand exceeds supply, by no more than a bound",
        m.check_feasible,
        m.within_the_bound,
        (lambda plan: 0.0,),  # passes once in 10^9 runs
    ),
    SeedError(
        "A01",
        "folklore",
        "a group's δ is kδ",
        "δ(e^(kε) − 1)/(e^ε − 1)",
        accounts.check_group,
        group_guarantee,
        (a.delta_times_the_group,),
    ),
    SeedError(
        "A02",
        "folklore",
        "J reports cost J·ρ",
        "J²·ρ",
        accounts.check_group_rho,
        group_guarantee,
        (a.rho_times_the_group,),
    ),
    SeedError(
        "A03",
        "folklore",
        "composed at one lie too far, or by adding up",
        "the last (k − 2i)ε whose δ_i is at most δ, or between",
        partial(accounts.check_composes, tight=0.999),
        lambda e, k, d: optimal_epsilon(e, releases=k, delta=d),
        (a.one_lie_too_far, lambda e, k, d: k * e),
    ),
    SeedError(
        "A04",
        "folklore",
        "ρ + √(ρ ln(1/δ))",
        "ρ + 2√(ρ ln(1/δ)), or less",
        accounts.check_converts,
        epsilon_of,
        (a.half_the_root,),
    ),
    SeedError(
        "A05",
        "folklore",
        "… + ln(δα)/(α − 1)",
        "… − ln(δα)/(α − 1)",
        accounts.check_converts,
        epsilon_of,
        (a.sign_of_the_logarithm,),
    ),
    SeedError(
        "A06",
        "OpenDP",
        "any pure release at ε²/8",
        "ε·tanh(ε/2); ε²/8 for bounded range only",
        a.check_rho_of_pure,
        lambda g: Spending.of(g).rho,
        (lambda g: bounded_range_rho(g.epsilon),),
    ),
    SeedError(
        "A07",
        "folklore",
        "tCDP converted at orders past ω",
        "orders up to ω only",
        a.check_truncated,
        lambda rho, omega, delta: TruncatedConcentration(rho, omega).epsilon(delta),
        (lambda rho, omega, delta: epsilon_of(rho, delta),),
    ),
    SeedError(
        "A08",
        "folklore",
        "J reports contract as one does",
        "by J·ε0 and J·ε_c",
        a.check_three_reports,
        a.of_three_reports,
        (a.of_one_report,),
    ),
    SeedError(
        "A09",
        "folklore",
        "an add/remove ε contracts as it is, or by half of ε0",
        "2ε first, and by all of ε0",
        a.check_contracts_either,
        a.contracts,
        (
            lambda g, local: a.contracts(a.under_replace(g), local),
            lambda g, local: a.contracts(g, local / 2),
        ),
    ),
    SeedError(
        "A10",
        "everybody",
        "floats, rounded to nearest",
        "rationals, rounded up",
        a.check_rounded_up,
        a.in_rationals,
        (a.in_floats,),
    ),
    SeedError(
        "A11",
        "Apple",
        "the larger end of each block of M",
        "the end that hides least",
        a.check_never_below,
        partial(a.in_blocks, end=0),
        (partial(a.in_blocks, end=4),),
    ),
    SeedError(
        "A12",
        "folklore",
        "n others hide one, or nobody does",
        "n people are n − 1 others",
        accounts.check_shuffles,
        a.of_a_crowd,
        (a.of_the_others, a.of_nobody_else),
    ),
    SeedError(
        "A13",
        "folklore",
        "charged to the first epoch",
        "to every epoch that was read",
        a.check_charged,
        Account.spent,
        (a.first_epoch_only,),
    ),
    SeedError(
        "A14",
        "folklore",
        "test noise of a sparse vector: 1/ε2, or 2/ε2",
        "2cΔ/ε2",
        a.check_holdout,
        a.HOLDOUT.decays,
        (a.TEST_ALONE, a.TEST_OF_ONE),
    ),
    SeedError(
        "A15",
        "folklore",
        "its answer noise without c",
        "cΔ/ε3",
        a.check_holdout,
        a.HOLDOUT.decays,
        (a.ANSWER_OF_ONE,),
    ),
    SeedError(
        "A16",
        "reference",
        "rows are within tanh(ε/2) of the population",
        "tanh(ε/4), and reached",
        check_gap,
        transfer_gap,
        (lambda epsilon: math.tanh(epsilon / 2), lambda epsilon: math.tanh(epsilon / 5)),
    ),
    SeedError(
        "M01",
        "folklore",
        "noise for one good: L1 = 1",
        "L1 = 2: one demand falls, another rises",
        m.check_decay,
        Fraction(1, 2),
        (Fraction(1),),
    ),
    SeedError(
        "M02",
        "folklore",
        "the whole budget in every round",
        "decay ε/(T·L1)",
        m.check_decay,
        Fraction(1, 2),
        (Fraction(2),),
    ),
    SeedError(
        "M03",
        "folklore",
        "goods taken back where they do not suffice",
        "no outcome depends on others' data",
        m.check_settled,
        markets.best_responses,
        (m.rationed,),
    ),
    SeedError(
        "M04",
        "folklore",
        "everybody told who bought",
        "only boards are shown",
        m.check_settled,
        markets.best_responses,
        (m.crowded,),
    ),
    SeedError(
        "M05",
        "folklore",
        "Clarke payments for a lottery, or none",
        "payments with the entropy of the lottery",
        m.check_truthful,
        m.exactly_truthful,
        (m.clarke, m.nothing_to_pay),
    ),
    SeedError(
        "M06",
        "reference",
        "payments are jointly private",
        "an exact payment tells its payer about the others: noise",
        m.check_payment_private,
        m.one_noisy,
        (m.one_exact,),
    ),
    SeedError(
        "M07",
        "folklore",
        "every buyer asked in every round",
        "once",
        m.check_asked_once,
        m.once_each,
        (m.every_round,),
    ),
    SeedError(
        "M08",
        "folklore",
        "demand from raw counts of randomized answers",
        "debiased",
        m.check_unbiased,
        LocalAllocationPlan.demand,
        (m.raw_demand,),
    ),
    SeedError(
        "M09",
        "folklore",
        "steps as small as may be",
        "the step of the bound",
        m.check_step,
        1.0,
        (1e-4,),
    ),
    SeedError(
        "M10",
        "folklore",
        "σ² = L2²/2ρ, for one round",
        "σ² = T·L2²/2ρ",
        m.check_variance,
        m.WITHIN_ONE,
        (m.FOR_ONE_ROUND,),
    ),
    SeedError(
        "M11",
        "folklore",
        "revenues of raw counts of randomized bids",
        "less r·n·q·K_r, what untrue answers add",
        m.check_offsets,
        revenue_offsets,
        (m.no_offsets,),
    ),
]


@pytest.mark.parametrize("error", TABLE, ids=lambda e: f"{e.number}: {e.printed}")
def test_what_is_correct_passes_and_what_was_printed_does_not(error: SeedError) -> None:
    error.check(error.shipped)
    for mutant in error.mutants:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            error.check(mutant)


def test_the_errors_of_the_notes_about_markets_are_all_here() -> None:
    assert {f"E{number}" for number in range(12, 20)} <= {error.number for error in TABLE}
