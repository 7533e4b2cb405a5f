"""Known mistakes about accounts, and checks that only they need.

The table is in `tests/central/test_errors_of_accounting_and_auctions.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from deniable_central.accounting import (
    Account,
    Budget,
    Charge,
    HoldoutPlan,
    Installation,
    Spending,
    basic,
    contracted_guarantee,
    promise,
    shuffled_delta,
)
from deniable_central.accounting.shuffle import Crowd, _binomial, _Blocks
from deniable_central.guarantee import Guarantee
from support.oracles.central_accounting import (
    ADD_REMOVE,
    REPLACE,
    UP,
    check_contracts,
    hockey_stick,
    randomized_response,
    renyi,
)
from support.oracles.central_holdout import Decays, check_sparse_vector

HALF, ONE = Fraction(1, 2), Fraction(1)


def under_replace(guarantee: Guarantee) -> Guarantee:
    """The same numbers, stated for another adjacency."""
    return replace(guarantee, adjacency=REPLACE)


def twice_epsilon_and_delta_as_it_was(guarantee: Guarantee) -> Guarantee:
    assert guarantee.epsilon is not None
    return replace(guarantee, epsilon=2 * guarantee.epsilon, adjacency=REPLACE)


def delta_times_the_group(guarantee: Guarantee, rows: int) -> Guarantee:
    assert guarantee.epsilon is not None
    return replace(guarantee, epsilon=rows * guarantee.epsilon, delta=rows * guarantee.delta)


def rho_times_the_group(guarantee: Guarantee, rows: int) -> Guarantee:
    assert guarantee.rho is not None
    return replace(guarantee, rho=rows * guarantee.rho)


def one_lie_too_far(epsilon: Fraction, releases: int, delta: Fraction) -> Fraction:
    """(k − 2i)ε for the first δ_i above δ, instead of the last one below it."""
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


def half_the_root(rho: Fraction, delta: Fraction) -> Fraction:
    return rho + Fraction(math.sqrt(-rho * math.log(delta)))


def sign_of_the_logarithm(rho: Fraction, delta: Fraction) -> Fraction:
    """At order 3, instead of 3ρ + ln ⅔ − ½·ln 3δ."""
    return 3 * rho + Fraction(math.log(2 / 3) + math.log(3 * delta) / 2)


def check_rho_of_pure(cost: Callable[[Guarantee], Fraction]) -> None:
    """D_α ≤ ρα for randomized response, the worst pure release."""
    for epsilon in (0.2, 1.0, 4.0):
        rho = float(cost(Guarantee.pure(Fraction(epsilon), REPLACE)))
        for alpha in (1.01, 2.0, 8.0):
            assert renyi(*randomized_response(epsilon), alpha) <= rho * alpha * UP


def check_truncated(epsilon: Callable[[Fraction, Fraction, Fraction], Fraction]) -> None:
    """A loss of 20 with probability 10^−6: D_α of that pair is moderate up to α = 2."""
    p, q = np.array([1 - 1e-6, 1e-6]), np.array([1 - 1e-6 * math.exp(-20), 1e-6 * math.exp(-20)])
    rho = max(renyi(p, q, a) / a for a in np.linspace(1.001, 2, 1000).tolist())
    for delta in (1e-7, 1e-6, 1e-4):
        bound = epsilon(Fraction(rho), Fraction(2), Fraction(delta))
        assert hockey_stick(p, q, float(bound)) <= delta


Promised = Callable[[Guarantee, Installation], Guarantee]


def of_three_reports(release: Guarantee, installation: Installation) -> Guarantee:
    return promise(release, installation, read="releases").true_values


def of_one_report(release: Guarantee, installation: Installation) -> Guarantee:
    return contracted_guarantee(release, local=ONE)


def check_three_reports(true_values: Promised) -> None:
    """Three equal answers, and a release that reads all three."""
    three = Installation.fresh(epochs=3, report=1, lifetime=3)
    p, q = (np.array([law[0] ** 3, 1 - law[0] ** 3]) for law in randomized_response(1.0))
    one, zero = randomized_response(1.5)
    pair = p[0] * one + p[1] * zero, q[0] * one + q[1] * zero
    bound = true_values(Guarantee.pure(HALF, REPLACE), three).epsilon
    assert bound is not None
    assert hockey_stick(*pair, float(bound)) <= 1e-12


Contracts = Callable[[Guarantee, Fraction], Guarantee]


def contracts(guarantee: Guarantee, local: Fraction) -> Guarantee:
    return contracted_guarantee(guarantee, local=local)


def check_contracts_either(contracts: Contracts) -> None:
    """Also of a release that separates a row from none by e^½, and two rows by e."""
    central = np.array([[1.0, 0.0], [0.0, 1.0]]) @ np.array(randomized_response(1.0))
    pair = randomized_response(1.0)
    bound = contracts(Guarantee.pure(HALF, ADD_REMOVE), ONE).epsilon
    assert bound is not None
    assert hockey_stick(pair[0] @ central, pair[1] @ central, float(bound)) <= 1e-12
    check_contracts(contracts)


def in_floats(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(2 * math.atanh(math.tanh(a / 2) * math.tanh(b / 2)))


def in_rationals(a: Fraction, b: Fraction) -> Fraction:
    bound = contracted_guarantee(Guarantee.pure(a, REPLACE), local=b).epsilon
    assert bound is not None
    return bound


def check_rounded_up(epsilon: Callable[[Fraction, Fraction], Fraction]) -> None:
    """ln((e^(a + b) + 1)/(e^a + e^b)) to 60 digits is at most what is stated, for 100 pairs."""
    with localcontext(prec=60):
        for a, b in itertools.product(range(1, 11), repeat=2):
            x, y = (Decimal(n) / 7 for n in (a, b))
            exact = (((x + y).exp() + 1) / (x.exp() + y.exp())).ln()
            stated = epsilon(Fraction(a, 7), Fraction(b, 7))
            assert Fraction(exact) - Fraction(1, 10**50) <= stated


def in_blocks(epsilon: float, local: Fraction, reports: int, *, end: int) -> float:
    """δ of a crowd in blocks of up to five M, each at its least (0) or its largest (4)."""
    crowd = Crowd.of(local, reports=reports)
    first, chances = _binomial(reports - 1, 1 - crowd.t)
    starts = np.arange(0, len(chances), 5)
    blocks = _Blocks.of([1 + first + int(s) + end for s in starts])
    return Crowd(local, crowd.t, np.add.reduceat(chances, starts), blocks).delta(epsilon)


def of_a_crowd(epsilon: float, local: Fraction, reports: int) -> float:
    return shuffled_delta(epsilon, local=local, reports=reports)


def of_the_others(epsilon: float, local: Fraction, reports: int) -> float:
    return shuffled_delta(epsilon, local=local, reports=reports + 1)


def of_nobody_else(epsilon: float, local: Fraction, reports: int) -> float:
    return max(0.0, math.tanh(local / 2) - math.tanh(epsilon / 2))


def check_never_below(delta: Callable[[float, Fraction, int], float]) -> None:
    for epsilon, local in itertools.product((0.0, 0.05, 0.5), (ONE, Fraction(4))):
        assert delta(epsilon, local, 30) >= of_a_crowd(epsilon, local, 30) * 0.999


def first_epoch_only(account: Account, epoch: int) -> Spending:
    first = [charge for charge in account.charges if min(charge.epochs) == epoch]
    return Spending.of(basic(charge.guarantee for charge in first))


def check_charged(spent: Callable[[Account, int], Spending]) -> None:
    """Two releases, which read epochs 1 and 2, and epoch 2."""
    account = Account(Budget(ONE, ONE, reports=1))
    for epochs in ({1, 2}, {2}):
        account = account.charged(Charge("r", frozenset(epochs), Guarantee.pure(HALF, REPLACE)))
    assert [spent(account, epoch).epsilon for epoch in (1, 2)] == [HALF, ONE]


SPLIT = (Fraction(1, 4), Fraction(3, 2), Fraction(1, 4))
HOLDOUT = HoldoutPlan(3, SPLIT, HALF, 2, 3)
_THRESHOLD, _TEST, _ANSWER = HOLDOUT.decays
TEST_ALONE: Decays = (_THRESHOLD, SPLIT[1], _ANSWER)
TEST_OF_ONE: Decays = (_THRESHOLD, SPLIT[1] / 2, _ANSWER)
ANSWER_OF_ONE: Decays = (_THRESHOLD, _TEST, 4 * SPLIT[2])


def check_holdout(decays: Decays) -> None:
    check_sparse_vector(decays, HOLDOUT.threshold, 2, epsilon=2.0)
