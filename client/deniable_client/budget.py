"""The ledger of ε on this device: what is spent and what may still be spent.

Charges are kept under the name that the app calls. A `ledger_group` puts several names into one
account. Accounts are only ever joined, so no later manifest can split a budget. The ledger counts ε
in integer millionths; Fractions are used outside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from deniable_client.epsilon import Epsilon

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

__all__ = ["Budget", "budget_of", "join_account", "millionths"]

_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Budget:
    """ε of this installation: the lifetime limit, what is spent and what is left.

    `collections` has one Budget for each name. Names of one ledger group share what is spent. The
    `left` of a name is also limited by the app's ceiling over all names.
    """

    lifetime: Epsilon
    spent: Epsilon
    left: Epsilon
    collections: Mapping[str, Budget] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, lifetime: Fraction, spent: Fraction, most: Fraction) -> Self:
        """Return the budget of a lifetime limit; at most `most` is left."""
        left = max(Fraction(0), min(lifetime - spent, most))
        return cls(Epsilon(lifetime), Epsilon(spent), Epsilon(left))

    def __str__(self) -> str:
        return f"ε = {self.spent} of {self.lifetime} spent, {self.left} left"

    def to_json(self) -> dict[str, object]:
        """Return the numbers, and one such object for each name."""
        numbers = {"lifetime": self.lifetime, "spent": self.spent, "left": self.left}
        if not self.collections:
            return {**numbers}
        by_name = {name: budget.to_json() for name, budget in self.collections.items()}
        return {**numbers, "collections": by_name}


class _Charge(NamedTuple):
    """A row of `name`: millionths of ε charged under a name, and its account."""

    name: str
    account: str
    spent: int


def millionths(epsilon: Fraction) -> int:
    """Return ε in millionths, rounded down: exact for manifests, never more than a limit."""
    return epsilon.numerator * _MICRO // epsilon.denominator


def join_account(db: sqlite3.Connection, name: str, ledger_group: str) -> None:
    """Add a row for the name, and put it into the account of its ledger group."""
    for label in (ledger_group, name):
        db.execute("INSERT OR IGNORE INTO name (name, account) VALUES (?, ?)", (label, label))
    first, last = sorted(_account(db, label) for label in (ledger_group, name))
    if first != last:
        db.execute("UPDATE name SET account = ? WHERE account = ?", (first, last))


def budget_of(
    db: sqlite3.Connection, ceiling: Fraction, lifetimes: Mapping[str, Fraction]
) -> Budget:
    """Return the budget under the app's `ceiling` and the lifetime limit of each name."""
    rows = db.execute("SELECT name, account, spent FROM name ORDER BY name")
    charges = [_Charge(**row) for row in rows]
    by_account: dict[str, int] = {}
    for charge in charges:
        by_account[charge.account] = by_account.get(charge.account, 0) + charge.spent
    total = Budget.of(ceiling, Fraction(sum(by_account.values()), _MICRO), ceiling)
    collections = {
        charge.name: Budget.of(
            min(lifetimes.get(charge.name, ceiling), ceiling),
            Fraction(by_account[charge.account], _MICRO),
            total.left.exact,
        )
        for charge in charges
        if charge.spent or charge.name in lifetimes
    }
    return Budget(total.lifetime, total.spent, total.left, MappingProxyType(collections))


def _account(db: sqlite3.Connection, label: str) -> str:
    row = db.execute("SELECT account FROM name WHERE name = ?", (label,)).fetchone()
    return str(row[0])
