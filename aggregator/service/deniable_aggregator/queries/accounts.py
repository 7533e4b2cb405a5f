"""Turns stored charges into the account of a collection.

The budget is that of the newest manifest; more than it may be spent already. The most reports
of one installation are counted under the first version's lifetime: later ones may only lower it.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_central.accounting import Account, Budget, Charge
from deniable_central.guarantee import Guarantee, parse_adjacency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import ChargeRow


def budget_of(collection: Collection) -> Budget:
    """The budget in the newest manifest."""
    newest, first = collection.manifest, collection.first
    reports = {
        "once": 1,
        "fresh": int(first.epsilon_lifetime // first.epsilon_report),
        "memoized": None,
    }
    return Budget(
        per_epoch=newest.central_per_epoch,
        per_installation=newest.central_per_installation,
        delta=newest.central_delta,
        reports=reports[first.repeat],
    )


def account_of(collection: Collection, rows: Sequence[ChargeRow]) -> Account:
    """The budget and everything that was charged to it."""
    return Account(budget_of(collection), tuple(map(charge_of, rows)))


def charge_of(row: ChargeRow) -> Charge:
    """A stored charge as a charge that accounting can add up."""
    return Charge(row.release, frozenset(row.epochs), guarantee_of(row))


def guarantee_of(row: ChargeRow) -> Guarantee:
    """The guarantee that was charged, exactly."""
    return Guarantee(
        epsilon=None if row.epsilon is None else Fraction(row.epsilon),
        rho=None if row.rho is None else Fraction(row.rho),
        delta=Fraction(row.delta),
        adjacency=parse_adjacency(row.adjacency),
    )


def substitute_request(release: str) -> bytes:
    """The digest of a charge for a release that a database has lost.

    No request has it, so that the same request is charged again.
    """
    return sha256(b"deniable/1 reconciled " + release.encode()).digest()


def is_substitute(row: ChargeRow) -> bool:
    """Whether this charge replaces one that a database had lost."""
    return row.request == substitute_request(row.release)
