"""What was released, and what it cost: read from the store, never charged for."""

from __future__ import annotations

import json
from collections.abc import Sequence

from deniable_aggregator.heads.names import is_substitute
from deniable_aggregator.problem import Problem
from deniable_aggregator.queries.accounts import account_of, guarantee_of
from deniable_aggregator.registry import Collection
from deniable_aggregator.releases.document import (
    Document,
    guaranteed,
    ledger_epochs,
    limit_of,
    remaining,
)
from deniable_aggregator.store.contract import ChargeRow, ResultRow, Store

__all__ = ["charge_named", "ledger", "listed", "result_named"]


def charge_named(store: Store, collection: Collection, release: str) -> ChargeRow:
    """Of this collection; raises not-found."""
    for row in store.charges(collection.id):
        if row.release == release:
            return row
    raise Problem(
        "not-found",
        f"{collection.id} has no release {release[:64]!r}; "
        f"GET /v1/collections/{collection.id}/releases lists them",
    )


def result_named(store: Store, collection: Collection, release: str) -> ResultRow:
    """What is shown of it; not-found, too, where it was charged and never made."""
    charged = charge_named(store, collection, release)
    found = store.result(charged.release)
    if found is None:
        cure = (
            "it was made before the database was restored from an older copy, and is lost"
            if is_substitute(charged)
            else "the same request again makes it, at no cost"
        )
        raise Problem("not-found", f"release {release} was charged and not made: {cure}")
    return found


def listed(store: Store, collection: Collection) -> list[Document]:
    """Every release that was charged, oldest first."""
    made = {row.release for row in store.results(collection.id)}
    return [_summary(row, made) for row in store.charges(collection.id)]


def ledger(store: Store, collection: Collection) -> Document:
    """Budget, spending, what is left, and who spent it; an epoch not listed has all of it left."""
    rows: Sequence[ChargeRow] = store.charges(collection.id)
    account = account_of(collection, rows)
    made = {row.release for row in store.results(collection.id)}
    return {
        "collection": collection.id,
        "name": collection.name,
        "per_epoch": limit_of(account.budget.of_epoch),
        "reports": account.budget.reports,
        "installation": remaining(account.budget.of_installation, account.spent_by_installation()),
        "epochs": ledger_epochs(account),
        "releases": [_summary(row, made) for row in rows],
    }


def _summary(row: ChargeRow, made: set[str]) -> Document:
    asked = json.loads(row.terms)
    return {
        "release": row.release,
        "created": row.created,
        "mechanism": asked["mechanism"],
        "version": asked["version"],
        "parameters": asked["parameters"],
        "epochs": list(row.epochs),
        "adjacency": row.adjacency,
        "guarantee": guaranteed(guarantee_of(row)),
        "state": "made" if row.release in made else "charged",
    }
