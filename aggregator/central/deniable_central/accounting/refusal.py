"""Refusals in words: what is spent, requested and left, by which releases, and what is possible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_central.errors import BudgetError, Shortage
from deniable_central.guarantee import at_least, at_most, bounded_range_rho, pure_rho

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_central.accounting.spending import Limit, Spending

_NAMED = 5
_LARGEST = Fraction(100)
_STEPS = 40


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A request over the limit: what is spent, by which releases, and the price for `reports`."""

    limit: Limit
    spent: Spending
    requested: Spending
    reports: int
    releases: tuple[str, ...]

    @property
    def shortage(self) -> Shortage:
        """The shortage of δ if there is one; else of ε, or of ρ if that allows more."""
        if self.spent.delta + self.requested.delta > self.limit.own_delta:
            deltas = self.limit.own_delta, self.spent.delta, self.requested.delta
            return self._short("delta", *deltas)
        if self.limit.rho is not None and (self.is_gaussian or self.drawn > self.pure):
            return self._short("rho", self.limit.rho, self.spent.rho, self.requested.rho)
        return self._short(
            "epsilon", self.limit.epsilon, self.spent.epsilon, self.requested.epsilon
        )

    @property
    def is_gaussian(self) -> bool:
        """Whether the request has a ρ instead of an ε."""
        return self.requested.epsilon is None

    @property
    def pure(self) -> Fraction:
        """The ε left for one release, by adding up ε."""
        spent = self.limit.epsilon if self.spent.epsilon is None else self.spent.epsilon
        return max(self.limit.epsilon - spent, Fraction(0)) / self.reports

    @property
    def drawn(self) -> Fraction:
        """The ε left for the exponential mechanism, by adding up ρ."""
        return _within(bounded_range_rho, self.rho)

    @property
    def other(self) -> Fraction:
        """The ε left for any other release, by the better of both sums."""
        return max(self.pure, _within(pure_rho, self.rho))

    @property
    def rho(self) -> Fraction:
        """The ρ left for one release, by adding up ρ."""
        limit = self.limit.rho or Fraction(0)
        return max(limit - self.spent.rho, Fraction(0)) / self.reports**2

    def _short(
        self, currency: str, limit: Fraction, spent: Fraction | None, requested: Fraction | None
    ) -> Shortage:
        left = Fraction(0) if spent is None else max(limit - spent, Fraction(0))
        return Shortage(currency, limit, spent, requested, left, self.releases)


def budget_error(request: BudgetRequest, *, whose: str) -> BudgetError:
    """Return the error for a release that the limit does not allow."""
    short = request.shortage
    price = "more than any epsilon" if short.requested is None else at_most(short.requested)
    message = (
        f"{whose} has {short.currency} {at_least(short.left)} of {at_least(short.limit)} left for "
        f"releases, and this one costs {price}{_spent(short)}: {_cure(request, short)}"
    )
    return BudgetError(message, short)


def _spent(short: Shortage) -> str:
    if not short.spent:
        return ""
    return f" ({at_most(short.spent)} was spent by {_names(short.releases)})"


def _cure(request: BudgetRequest, short: Shortage) -> str:
    if short.currency == "delta":
        return "ask for less delta, or use a mechanism of pure epsilon"
    if request.is_gaussian and request.limit.rho is None:
        return "this budget has delta 0, so use geometric noise and not Gaussian"
    if request.is_gaussian:
        return _ask("rho", request.rho)
    if short.currency == "rho":
        other = at_least(request.other)
        return (
            f"{_ask('epsilon', request.drawn)} by the exponential mechanism or {other} by another"
        )
    return _ask("epsilon", request.pure)


def _ask(currency: str, most: Fraction) -> str:
    if at_least(most) == "0":
        return "read other epochs"
    return f"read other epochs, or ask for {currency} {at_least(most)} at most"


def _within(rho_of: Callable[[Fraction], Fraction], rho: Fraction) -> Fraction:
    """Return about the largest ε with ρ(ε) ≤ ρ."""
    low, high = Fraction(0), _LARGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_of(middle) <= rho else (low, middle)
    return low


def _names(releases: tuple[str, ...]) -> str:
    names = ", ".join(releases[:_NAMED])
    more = len(releases) - _NAMED
    return f"{names} and {more} more" if more > 0 else names
