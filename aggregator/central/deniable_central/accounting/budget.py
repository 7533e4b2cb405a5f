"""Budget: what the releases of one collection may cost, per epoch and per installation.

A release charges every epoch that it reads. In one epoch an installation has one report, so `spent`
is a plain sum. In several epochs it has a report in each, but in at most `reports` consecutive
epochs. Its cost is the largest over all such windows W of Σ over releases of the group of |W ∩ what
the release read|, so J·ε, J²·ρ.

Nothing here reads a tally or draws a coin. An account is a value, and a charge makes a new one. The
caller must commit the new one before the draw.

Source: docs/mathematics/accounting.md, What may still be released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_central.accounting.parameters import read_count
from deniable_central.accounting.refusal import BudgetRequest, budget_error
from deniable_central.accounting.spending import NOTHING, Limit, Spending
from deniable_central.errors import AccountError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_central.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Budget:
    """The manifest's `central`, and the most reports of one installation; None for no such limit.

    reports: 1 for "once", ⌊lifetime/report⌋ for "fresh", None for "memoized".
    """

    per_epoch: Fraction
    per_installation: Fraction
    delta: Fraction = Fraction(0)
    reports: int | None = None

    def __post_init__(self) -> None:
        if self.reports is not None:
            read_count(self.reports, argument="reports")
        for epsilon in (self.per_epoch, self.per_installation):
            Limit(epsilon, self.delta)

    @property
    def of_epoch(self) -> Limit:
        """The most that may be spent on one epoch."""
        return Limit(self.per_epoch, self.delta)

    @property
    def of_installation(self) -> Limit:
        """The most that may be spent on all epochs together."""
        return Limit(self.per_installation, self.delta)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one release costs, and the epochs that it read. `release` is its name in refusals.

    Raises AccountError without epochs.
    """

    release: str
    epochs: frozenset[int]
    guarantee: Guarantee

    def __post_init__(self) -> None:
        if not self.epochs:
            raise AccountError("a release must read at least 1 epoch, got none")

    def cost(self, window: range | None) -> Spending:
        """The cost to an installation with a report in each epoch of the window (None: all)."""
        reports = self.reports(window)
        return Spending.of(self.guarantee, reports=reports) if reports else NOTHING

    def reports(self, window: range | None) -> int:
        """Return how many of the epochs that it read are in the window."""
        return len(self.epochs if window is None else self.epochs.intersection(window))


@dataclass(frozen=True, slots=True)
class Account:
    """A budget, and the charges to it."""

    budget: Budget
    charges: tuple[Charge, ...] = ()

    def spent(self, epoch: int) -> Spending:
        """Return what all releases that read this epoch have spent, per report."""
        return _total(charge.cost(range(epoch, epoch + 1)) for charge in self.charges)

    def spent_by_installation(self) -> Spending:
        """Return the most that any installation has spent, in each currency."""
        costs = [_total(c.cost(window) for c in self.charges) for window in self.windows()]
        return _largest(costs) if costs else NOTHING

    def charged(self, charge: Charge) -> Account:
        """Return the account after this release. Store it before the draw.

        Raises BudgetError, which says what is spent, requested and left, and by which releases.
        """
        after = replace(self, charges=(*self.charges, charge))
        for epoch in sorted(charge.epochs):
            window = range(epoch, epoch + 1)
            self._check(charge, window, self.budget.of_epoch, f"epoch {epoch}")
        for wide in after.windows(charge.epochs):
            self._check(charge, wide, self.budget.of_installation, _person(wide))
        return after

    def _check(self, charge: Charge, window: range | None, limit: Limit, whose: str) -> None:
        consumers = [c for c in self.charges if c.reports(window)]
        spent = _total(c.cost(window) for c in consumers)
        cost = charge.cost(window)
        if not limit.admits(spent + cost):
            names = tuple(c.release for c in consumers)
            reports = charge.reports(window)
            raise budget_error(BudgetRequest(limit, spent, cost, reports, names), whose=whose)

    def windows(self, touching: Iterable[int] | None = None) -> Iterator[range | None]:
        """Yield every window that starts at a charged epoch; any other is part of one of these."""
        if self.budget.reports is None:
            yield None
            return
        charged = sorted({epoch for charge in self.charges for epoch in charge.epochs})
        touched = set(charged if touching is None else touching)
        for start in charged:
            window = range(start, start + self.budget.reports)
            if touched.intersection(window):
                yield window


def _total(costs: Iterable[Spending]) -> Spending:
    return sum(costs, NOTHING)


def _largest(costs: list[Spending]) -> Spending:
    epsilons = [cost.epsilon for cost in costs if cost.epsilon is not None]
    return Spending(
        max(epsilons) if len(epsilons) == len(costs) else None,
        max(cost.rho for cost in costs),
        max(cost.delta for cost in costs),
    )


def _person(window: range | None) -> str:
    if window is None:
        return "one installation"
    if len(window) == 1:
        return f"one installation in epoch {window[0]}"
    return f"one installation in epochs {window[0]} to {window[-1]}"
