"""Budgets: what is granted never exceeds them, per epoch and per installation; refusals help."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.accounting import (
    Account,
    AccountError,
    Budget,
    BudgetError,
    Charge,
    Limit,
    Spending,
    epsilon_of,
    largest_rho,
    simple_epsilon_of,
)
from deniable_central.guarantee import Guarantee, bounded_range_rho, pure_rho
from support.oracles.central_accounting import (
    ADD_REMOVE,
    MICRO,
    REPLACE,
    hockey_stick,
    randomized_response,
    repeated_response,
)
from support.tiers import grid

FIFTH, HALF, ONE = Fraction(1, 5), Fraction(1, 2), Fraction(1)
DRAWN, OTHER = Guarantee.bounded_range(FIFTH, REPLACE), Guarantee.pure(FIFTH, REPLACE)
GAUSSIAN = Guarantee.concentrated(Fraction(1, 100), REPLACE)


def read(*epochs: int, name: str = "r", cost: Guarantee = DRAWN) -> Charge:
    return Charge(name, frozenset(epochs), cost)


def filled(account: Account, charge: Charge) -> tuple[Account, int]:
    """As many of one charge as the account takes."""
    for taken in itertools.count():
        try:
            account = account.charged(charge)
        except BudgetError:
            return account, taken
    raise AssertionError


def refusal(account: Account, charge: Charge) -> BudgetError:
    with pytest.raises(BudgetError) as caught:
        account.charged(charge)
    return caught.value


def test_a_release_charges_every_epoch_it_reads_and_no_other() -> None:
    account = Account(Budget(HALF, Fraction(2))).charged(read(3, 5))
    assert [account.spent(epoch).epsilon for epoch in (3, 4, 5)] == [FIFTH, 0, FIFTH]


def test_pure_epsilons_fill_an_epoch_and_not_more() -> None:
    account, taken = filled(Account(Budget(ONE, Fraction(9))), read(1))
    assert taken == 5
    assert account.spent(1).epsilon == 1
    assert account.charged(read(2)).spent(2).epsilon == FIFTH


def test_a_refusal_says_spent_asked_left_who_and_what_to_ask() -> None:
    account = Account(Budget(HALF, Fraction(2))).charged(read(7, name="mode-1"))
    account = account.charged(read(7, name="mode-2"))
    error = refusal(account, read(7))
    short = error.shortage
    assert (short.limit, short.spent, short.requested) == (HALF, 2 * FIFTH, FIFTH)
    assert (short.left, short.releases) == (Fraction(1, 10), ("mode-1", "mode-2"))
    assert str(error) == (
        "epoch 7 has epsilon 0.1 of 0.5 left for releases, and this one costs 0.2 "
        "(0.4 was spent by mode-1, mode-2): read other epochs, or ask for epsilon 0.1 at most"
    )


@pytest.mark.parametrize("delta", [Fraction(0), MICRO])
@pytest.mark.parametrize("reports", [1, 3, None])
@pytest.mark.parametrize("cost", [DRAWN, OTHER], ids=["drawn", "other"])
def test_the_cure_of_a_refusal_is_granted(
    delta: Fraction, reports: int | None, cost: Guarantee
) -> None:
    budget = Budget(HALF, Fraction(11, 10), delta, reports)
    account, _ = filled(Account(budget), read(1, 2, 3, cost=cost))
    message = str(refusal(account, read(1, 2, 3, cost=cost)))
    offered = message.partition("ask for epsilon ")[2].split(" at most")[0]
    if Fraction(offered):
        account.charged(read(1, 2, 3, cost=Guarantee.bounded_range(Fraction(offered), REPLACE)))


def test_add_remove_is_charged_twice() -> None:
    added = Guarantee.pure(FIFTH, ADD_REMOVE)
    account = Account(Budget(ONE, ONE)).charged(read(1, cost=added))
    assert account.spent(1).epsilon == 2 * FIFTH


def test_every_law_enters_with_its_own_rho() -> None:
    assert Spending.of(DRAWN).rho == bounded_range_rho(FIFTH)
    assert Spending.of(OTHER).rho == pure_rho(FIFTH) > 3 * bounded_range_rho(FIFTH)
    assert Spending.of(Guarantee.approximate(FIFTH, MICRO, REPLACE)).rho == pure_rho(FIFTH)


@pytest.mark.slow
def test_with_a_delta_draws_go_on_until_their_rho_is_spent() -> None:
    account, taken = filled(Account(Budget(Fraction(2), Fraction(99), MICRO)), read(1))
    assert taken == 16 > Fraction(2) / FIFTH
    spent = account.spent(1)
    assert epsilon_of(spent.rho, MICRO / 2) <= 2
    assert epsilon_of(spent.rho + DRAWN.rho, MICRO / 2) > 2  # type: ignore[operator]  # spent has a ρ here


def test_a_gaussian_release_needs_a_delta_and_says_so() -> None:
    strict, loose = (Account(Budget(ONE, ONE, delta)) for delta in (Fraction(0), MICRO))
    error = refusal(strict, read(1, cost=GAUSSIAN))
    assert "this budget has delta 0, so use geometric noise and not Gaussian" in str(error)
    assert loose.charged(read(1, cost=GAUSSIAN)).spent(1).epsilon is None


def test_deltas_fill_their_half() -> None:
    tested = read(1, cost=Guarantee.approximate(Fraction(1, 100), MICRO / 10, REPLACE))
    account, taken = filled(Account(Budget(ONE, ONE, MICRO)), tested)
    assert taken == 5
    assert refusal(account, tested).shortage.currency == "delta"
    assert account.charged(read(1)).spent(1).delta == MICRO / 2


def test_one_report_is_charged_the_dearest_epoch() -> None:
    account = Account(Budget(ONE, ONE, reports=1)).charged(read(1)).charged(read(2))
    assert account.spent_by_installation().epsilon == FIFTH


def test_an_installation_is_charged_for_its_dearest_window() -> None:
    account = Account(Budget(ONE, Fraction(9), reports=2))
    for epochs in ((1, 2, 3), (3,), (8,)):
        account = account.charged(read(*epochs))
    assert account.spent_by_installation().epsilon == 3 * FIFTH  # epochs 2 and 3
    assert account.spent_by_installation().rho == 5 * bounded_range_rho(FIFTH)


def brute_force(charges: list[Charge], reports: int) -> Fraction:
    """The dearest set of at most so many epochs in a row, of all."""
    last = max(epoch for charge in charges for epoch in charge.epochs)
    totals = [
        sum(
            len(c.epochs & set(range(first, first + reports))) * (c.guarantee.epsilon or 0)
            for c in charges
        )
        for first in range(last + 1)
    ]
    return Fraction(max(totals))


@pytest.mark.parametrize("reports", [1, 2, 3, 5])
def test_windows_that_start_at_a_charge_are_all_that_matter(reports: int) -> None:
    sets = [(0, 4), (1, 2, 3), (6,), (3, 4, 5, 9), (9,), (2, 8)]
    for chosen in itertools.combinations(sets, 3):
        charges = [read(*epochs) for epochs in chosen]
        account = Account(Budget(Fraction(9), Fraction(99), reports=reports), tuple(charges))
        assert account.spent_by_installation().epsilon == brute_force(charges, reports)


def test_an_installation_without_a_bound_has_a_report_in_every_epoch() -> None:
    account = Account(Budget(ONE, ONE)).charged(read(1, 5, 9))
    assert account.spent_by_installation().epsilon == 3 * FIFTH
    error = refusal(account, read(20, 30, 40))
    assert str(error).startswith("one installation has epsilon 0.4 of 1 left for releases, and")
    assert str(error).endswith("ask for epsilon 0.133333 at most")


def test_the_installation_limit_counts_reports_squared_in_rho() -> None:
    account = Account(Budget(Fraction(2), Fraction(2), MICRO, 10))
    wide = read(*range(10), cost=Guarantee.concentrated(Fraction(1, 1000), REPLACE))
    short = refusal(account, wide).shortage
    assert (short.currency, short.requested) == ("rho", Fraction(100, 1000))
    assert str(refusal(account, wide)).startswith("one installation in epochs 0 to 9")


def test_a_refused_release_changes_nothing() -> None:
    account = Account(Budget(HALF, HALF, reports=1)).charged(read(1)).charged(read(1))
    before = account.charges
    refusal(account, read(1))
    assert account.charges == before


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), MICRO, Fraction(1, 100)])
@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "8"], by_default=["1"]))
def test_the_largest_rho_is_what_the_conversion_lets_through(epsilon: str, delta: Fraction) -> None:
    rho, bound = largest_rho(Fraction(epsilon), delta), Fraction(epsilon)
    assert epsilon_of(rho, delta) <= bound < epsilon_of(rho * (1 + MICRO), delta)
    assert simple_epsilon_of(rho, delta) > bound


def test_no_course_of_events_costs_more_than_the_limit() -> None:
    """A first answer decides by which of the two filters the others pass; all at their limits."""
    limit, first, each = Limit(Fraction(1), Fraction(1, 5)), Fraction(1, 10), Fraction(1, 20)
    assert limit.rho is not None
    times = int((limit.rho - pure_rho(first)) / pure_rho(each))
    many = Spending(first + times * each, pure_rho(first) + times * pure_rho(each), Fraction(0))
    one = Spending(Fraction(1), Fraction(9), Fraction(0))
    assert limit.admits(many)
    assert limit.admits(one)
    assert many.epsilon is not None
    assert many.epsilon > 1
    (truth, lie), _ = randomized_response(0.1)
    by_one, by_many = randomized_response(0.9), repeated_response(0.05, times)
    p = np.concatenate((truth * by_one[0], lie * by_many[0]))
    q = np.concatenate((lie * by_one[1], truth * by_many[1]))
    assert 0 < hockey_stick(p, q, 1.0) <= 1 / 10


def test_a_release_that_reads_nothing_is_none() -> None:
    with pytest.raises(AccountError, match="at least 1 epoch"):
        read()


def test_many_consumers_are_named_in_part() -> None:
    account, taken = Account(Budget(ONE, ONE, reports=1)), 0
    small = Guarantee.pure(Fraction(1, 8), REPLACE)
    for taken in range(8):
        account = account.charged(read(1, name=f"r{taken}", cost=small))
    assert "r0, r1, r2, r3, r4 and 3 more" in str(refusal(account, read(1)))
