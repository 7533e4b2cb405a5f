"""What a device has spent and may still spend: the ledger, and its reading.

Charges are kept under the name the app calls. A `ledger_group` puts names into one account; what
was once put together stays together, so no later manifest splits a budget. ε is in integer
millionths here and in Fractions outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

__all__ = ["Budget", "budget_of", "join_account", "millionths"]

_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Budget:
    """ε as exact Fractions: what may be spent in a lifetime, what is spent, what is left.

    `collections` has one Budget a name, of the same form; names of one ledger group share what is
    spent. `left` there also minds the app's own ceiling over all of them.
    """

    lifetime: Fraction
    spent: Fraction
    left: Fraction
    collections: Mapping[str, Budget] = field(default_factory=lambda: MappingProxyType({}))


class _Charge(NamedTuple):
    """A row of `name`: what was charged under it, in millionths, and whose account that is."""

    name: str
    account: str
    spent: int


def millionths(epsilon: Fraction) -> int:
    """ε in millionths, rounded down: exact for manifests, never more than a ceiling allows."""
    return epsilon.numerator * _MICRO // epsilon.denominator


def join_account(db: sqlite3.Connection, name: str, ledger_group: str) -> None:
    """Give the name a row and one account with its ledger group."""
    for label in (ledger_group, name):
        db.execute("INSERT OR IGNORE INTO name (name, account) VALUES (?, ?)", (label, label))
    first, last = sorted(_account(db, label) for label in (ledger_group, name))
    if first != last:
        db.execute("UPDATE name SET account = ? WHERE account = ?", (first, last))


def budget_of(
    db: sqlite3.Connection, ceiling: Fraction, lifetimes: Mapping[str, Fraction]
) -> Budget:
    """The ledger under the app's lifetime ceiling and the manifests' `lifetimes` by name."""
    rows = db.execute("SELECT name, account, spent FROM name ORDER BY name")
    charges = [_Charge(**row) for row in rows]
    by_account: dict[str, int] = {}
    for charge in charges:
        by_account[charge.account] = by_account.get(charge.account, 0) + charge.spent
    total = _budget(ceiling, sum(by_account.values()), ceiling)
    collections = {
        charge.name: _budget(
            min(lifetimes.get(charge.name, ceiling), ceiling),
            by_account[charge.account],
            total.left,
        )
        for charge in charges
        if charge.spent or charge.name in lifetimes
    }
    return Budget(total.lifetime, total.spent, total.left, MappingProxyType(collections))


def _budget(lifetime: Fraction, spent_millionths: int, most: Fraction) -> Budget:
    spent = Fraction(spent_millionths, _MICRO)
    return Budget(lifetime, spent, max(Fraction(0), min(lifetime - spent, most)))


def _account(db: sqlite3.Connection, label: str) -> str:
    row = db.execute("SELECT account FROM name WHERE name = ?", (label,)).fetchone()
    return str(row[0])
