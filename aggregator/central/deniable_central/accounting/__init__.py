"""Accounting: what several releases cost together, to whom, and whether the budget allows it.

    basic, advanced_epsilon, bounded_range_epsilon, optimal_epsilon, RenyiCurve    composition
    epsilon_of, delta_of, Truncated                                      zCDP and tCDP as (ε, δ)
    grouped, replaced, total_variation                                   groups, adjacency
    contracted, shuffled_epsilon                                         answers randomized before
    promise, Installation                                                what a release guarantees
    Budget, Account, Charge                                              what may still be released
    Holdout, transfer_gap, population_error                              the population of the rows

All bounds are rationals, rounded up. Only `Guarantee.bounded_range` may have ρ_BR: that is the
exponential mechanism and its law under other names. Budgets are in ε and ρ for one replaced report.
"""

from __future__ import annotations

from deniable_central.accounting.budget import Account, Budget, Charge
from deniable_central.accounting.composition import (
    advanced_epsilon,
    basic,
    bounded_range_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from deniable_central.accounting.concentrated import (
    TruncatedConcentration,
    delta_of,
    epsilon_of,
    simple_epsilon_of,
)
from deniable_central.accounting.contraction import contracted_guarantee
from deniable_central.accounting.generalization import population_error, transfer_gap
from deniable_central.accounting.group import (
    group_guarantee,
    replacement_guarantee,
    total_variation,
)
from deniable_central.accounting.holdout import (
    Holdout,
    HoldoutAnswer,
    HoldoutPlan,
    plan_holdout,
)
from deniable_central.accounting.promise import Installation, Promise, promise
from deniable_central.accounting.renyi import RenyiCurve
from deniable_central.accounting.shuffle import shuffled_delta, shuffled_epsilon
from deniable_central.accounting.spending import Limit, Spending, largest_rho
from deniable_central.errors import (
    AccountError,
    BudgetError,
    HoldoutError,
    Shortage,
)

__all__ = [
    "Account",
    "AccountError",
    "Budget",
    "BudgetError",
    "Charge",
    "Holdout",
    "HoldoutAnswer",
    "HoldoutError",
    "HoldoutPlan",
    "Installation",
    "Limit",
    "Promise",
    "RenyiCurve",
    "Shortage",
    "Spending",
    "TruncatedConcentration",
    "advanced_epsilon",
    "basic",
    "bounded_range_epsilon",
    "contracted_guarantee",
    "delta_of",
    "epsilon_of",
    "group_guarantee",
    "largest_rho",
    "optimal_delta",
    "optimal_epsilon",
    "plan_holdout",
    "population_error",
    "promise",
    "replacement_guarantee",
    "shuffled_delta",
    "shuffled_epsilon",
    "simple_epsilon_of",
    "total_variation",
    "transfer_gap",
]
