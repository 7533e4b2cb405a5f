"""Stored releases of a collection. Reading them is free."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.documents.releases import (
    LogPlaceDocument,
    ReleaseDocument,
    ReleasesDocument,
    ReleaseSummary,
)
from deniable_aggregator.queries.accounts import guarantee_of, is_substitute
from deniable_aggregator.queries.guarantees import guarantee_document
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Ledger
    from deniable_aggregator.store.rows import ChargeRow, ResultRow


def charge_by_id(store: Ledger, collection: Collection, release_id: str) -> ChargeRow:
    """The charge of this collection. Raises not-found."""
    for row in store.charges(collection.id):
        if row.release == release_id:
            return row
    raise Problem(
        "not-found",
        f"{collection.id} has no release {release_id[:64]!r}; "
        f"GET /v1/collections/{collection.id}/releases lists them",
    )


def release(store: Ledger, collection: Collection, release_id: str) -> ReleaseDocument:
    """A stored release. Raises not-found, also if it was charged but never made."""
    charged = charge_by_id(store, collection, release_id)
    row = store.result(charged.release)
    if row is None:
        cure = (
            "it was lost when the database was restored from an older copy"
            if is_substitute(charged)
            else "repeat the request to make it, free of charge"
        )
        raise Problem("not-found", f"release {release_id} was charged but not made: {cure}")
    return document_of(row)


def document_of(row: ResultRow) -> ReleaseDocument:
    """The release in a row, and its place in the log."""
    kept = msgspec.json.decode(row.document, type=ReleaseDocument)
    place = LogPlaceDocument((row.position or 1) - 1, row.salt.hex())
    return msgspec.structs.replace(kept, log=place)


def releases(store: Ledger, collection: Collection) -> ReleasesDocument:
    """Every charged release, oldest first."""
    rows = store.charges(collection.id)
    return ReleasesDocument(collection.id, summaries(store, collection, rows))


def summaries(
    store: Ledger, collection: Collection, charges: Sequence[ChargeRow]
) -> list[ReleaseSummary]:
    """List entries of these charges of a collection."""
    made = {row.release for row in store.results(collection.id)}
    return [_summary(row, made=row.release in made) for row in charges]


def _summary(row: ChargeRow, *, made: bool) -> ReleaseSummary:
    terms = json.loads(row.terms)
    return ReleaseSummary(
        release=row.release,
        created=row.created,
        mechanism=terms["mechanism"],
        version=terms["version"],
        parameters=terms["parameters"],
        epochs=list(row.epochs),
        adjacency=row.adjacency,
        guarantee=guarantee_document(guarantee_of(row)),
        state="made" if made else "charged",
    )
