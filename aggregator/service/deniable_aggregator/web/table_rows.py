"""Turns documents into table rows: comparisons, series, epochs, releases, ledger, audit log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import UNSET

from deniable_aggregator.documents.releases import (
    AccountDocument,
    CostDocument,
    LedgerDocument,
    ReleaseSummary,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_aggregator.documents.access import AuditEntryDocument
    from deniable_aggregator.documents.collections import EpochDocument
    from deniable_aggregator.documents.comparison import ComparisonDocument
    from deniable_aggregator.documents.estimates import SeriesDocument
    from deniable_aggregator.web.spreadsheet import Row

COSTS = ("epsilon", "rho", "delta")
EPOCH_COLUMNS = ("epoch", "start", "end", "closes", "state", "expired", "n", "fewer_than")
RELEASE_COLUMNS = (
    *("release", "created", "mechanism", "version", "parameters", "epochs", "adjacency"),
    *(*COSTS, "state"),
)
LEDGER_COLUMNS = (
    *("collection", "name", "account", "first", "last"),
    *(f"{what}_{cost}" for what in ("limit", "spent", "left") for cost in COSTS),
)
_DIFFERENCE = ("label", "before", "after", "difference", "lower", "upper", "changed")
COMPARISON_COLUMNS = (*_DIFFERENCE, "before_n", "after_n", "confidence", "provisional")
SERIES_COLUMNS = (
    *("time", "epoch", "label", "frequency", "value", "lower", "upper", "std_error", "n"),
    *("provisional", "note"),
)
_ENTRY = ("at", "act", "actor", "details", "entry", "head")
AUDIT_COLUMNS = (*_ENTRY, "index")


def comparison_rows(document: ComparisonDocument) -> Iterator[Row]:
    """One row for each difference, with the number of reports of both periods."""
    rests_on: Row = {
        "before_n": document.before.n,
        "after_n": document.after.n,
        "confidence": document.confidence,
        "provisional": document.before.provisional or document.after.provisional,
    }
    for row in document.differences:
        yield {name: getattr(row, name) for name in _DIFFERENCE} | rests_on


def series_rows(document: SeriesDocument) -> Iterator[Row]:
    """One row for each label and epoch; `value` is empty for all but numbers."""
    for row in document.rows:
        yield _fill_empty({name: getattr(row, name) for name in SERIES_COLUMNS})


def epoch_list_rows(epochs: Iterable[EpochDocument]) -> Iterator[Row]:
    """One row for each epoch; a count is empty if the caller may not read it."""
    for epoch in epochs:
        yield _fill_empty({name: getattr(epoch, name) for name in EPOCH_COLUMNS})


def _fill_empty(row: Row) -> Row:
    """The row, with empty cells for the members that the document leaves out."""
    return {name: None if value is UNSET else value for name, value in row.items()}


def release_rows(releases: Iterable[ReleaseSummary]) -> Iterator[Row]:
    """One row for each release: parameters as JSON, costs as exact decimal texts."""
    for release in releases:
        row: Row = {
            "release": release.release,
            "created": release.created,
            "mechanism": release.mechanism,
            "version": release.version,
            "parameters": json.dumps(release.parameters, ensure_ascii=False),
            "epochs": " ".join(map(str, release.epochs)),
            "adjacency": release.adjacency,
        }
        yield row | _costs(release.guarantee) | {"state": release.state}


def ledger_rows(ledger: LedgerDocument) -> Iterator[Row]:
    """One row for each run of charged epochs, one for all others, one for an installation."""
    for account in ledger.collections:
        whose: Row = {"collection": account.collection, "name": account.name}
        for row in _accounts(account):
            yield whose | row


def _accounts(account: AccountDocument) -> Iterator[Row]:
    for run in account.epochs:
        named: Row = {"account": "epoch", "first": run.first, "last": run.last}
        yield named | _budget_columns(run.limit, run.spent, run.left)
    none: Row = {"account": "every other epoch", "first": None, "last": None}
    untouched = CostDocument(epsilon="0", rho="0", delta="0")
    yield none | _budget_columns(account.per_epoch, untouched, account.per_epoch)
    whole = account.installation
    yield none | {"account": "installation"} | _budget_columns(whole.limit, whole.spent, whole.left)


def _budget_columns(limit: CostDocument, spent: CostDocument, left: CostDocument) -> Row:
    return _costs(limit, "limit_") | _costs(spent, "spent_") | _costs(left, "left_")


def _costs(cost: CostDocument, before: str = "") -> Row:
    return {f"{before}{name}": getattr(cost, name) for name in COSTS}


def audit_rows(entries: Iterable[AuditEntryDocument], first: int = 0) -> Iterator[Row]:
    """Details as JSON. Entries without an index follow each other from `first` on."""
    for index, entry in enumerate(entries, first):
        row: Row = {name: getattr(entry, name) for name in _ENTRY}
        row["details"] = json.dumps(entry.details, ensure_ascii=False)
        yield row | {"index": index if entry.index is UNSET else entry.index}
