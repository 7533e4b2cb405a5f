"""Documents as rows, a line each: comparisons, series, epochs, releases, ledger and audit log."""

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
    "provisional",
)
AUDIT_COLUMNS = ("at", "act", "actor", "details", "entry", "head")


def comparison_rows(document: ComparisonDocument) -> Iterator[Row]:
    """One row a difference; each says how many reports of both periods it rests on."""
    rests_on: Row = {
        "before_n": document.before.n,
        "after_n": document.after.n,
        "confidence": document.confidence,
        "provisional": document.before.provisional or document.after.provisional,
    }
    for row in document.differences:
        yield {name: getattr(row, name) for name in _DIFFERENCE} | rests_on


def series_rows(document: SeriesDocument) -> Iterator[Row]:
    """One row a label and epoch; `value` is empty where only numbers have one."""
    for row in document.rows:
        yield _fill_empty({name: getattr(row, name) for name in SERIES_COLUMNS})


def epoch_list_rows(epochs: Iterable[EpochDocument]) -> Iterator[Row]:
    """Their counts are empty where they may not be read."""
    for epoch in epochs:
        yield _fill_empty({name: getattr(epoch, name) for name in EPOCH_COLUMNS})


def _fill_empty(row: Row) -> Row:
    """With empty cells for what the document leaves out."""
    return {name: None if value is UNSET else value for name, value in row.items()}


def release_rows(releases: Iterable[ReleaseSummary]) -> Iterator[Row]:
    """Parameters as JSON, epochs with spaces between, costs as exact decimal texts."""
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
    """A row for each run of epochs that was charged, for all others, and for an installation."""
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


def audit_rows(entries: Iterable[AuditEntryDocument]) -> Iterator[Row]:
    """Details as JSON."""
    for entry in entries:
        row: Row = {name: getattr(entry, name) for name in AUDIT_COLUMNS}
        yield row | {"details": json.dumps(entry.details, ensure_ascii=False)}
