"""Adds the charges that an older copy of the database lacks, so that releases can continue.

    known charge      charged again as it was. Its result was seen, so the same request pays again
    older charge      the whole budget of its collection, if the file no longer lists it
    unknown           the whole budget of every collection: the seen results are unknown
    lost result       a charge whose result may have been seen and lost: the next draw is a second
                      one, so it is charged a second time

A collection that the database lost cannot be charged. It is owed: when it is registered again, its
whole budget is charged. Its reports are rejected until then.

Nothing here checks a budget: results that were seen are spent. Charging is idempotent: names are
derived, so the next run finishes an interrupted one. An audit log that has lost entries continues
from its present end, with an entry that names the end that was known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.queries.accounts import budget_of, is_substitute, substitute_request
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.guard import (
    HeadStore,
    audit_log_continues,
    is_behind,
    owes_charges,
    updated_heads,
    without_deleted_collections,
)
from deniable_aggregator.releases.rollback_guard.heads import Heads, RecentCharge
from deniable_aggregator.store.ledger_rows import ChainHead, ledger_head
from deniable_aggregator.store.rows import ChargeRow
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.wire.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Audit, Ledger

MOST_RECORDS = 1 << 53
"""More records than any session has: a session of this length takes no more questions."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The added charges, the collections without budget, and those that the database lost."""

    charged: tuple[ChargeRow, ...] = ()
    exhausted: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def reconcile(
    data: Path,
    store: HeadStore,
    collections: Sequence[Collection],
    now: float,
    *,
    audit: AuditEntry | None,
) -> Reconciliation:
    """Charge the gap and update the file. Does nothing if there is no gap.

    The audit log has an entry of it, which names the collections that the database has lost.
    """
    with heads_file.exclusive(data):
        heads = heads_file.read(data)
        if heads is None:
            return Reconciliation()
        stored_ids = frozenset(store.collections())
        heads = without_deleted_collections(heads, store)
        lost = tuple(sorted(heads.collection_ids - stored_ids))
        cut = not audit_log_continues(heads, store)
        if cut:
            end = f"{heads.audit.size}:{heads.audit.head}"
            audit = with_details(audit, audit_log=f"goes on without {end}")
        if not is_behind(heads, store) and not owes_charges(heads, store):
            if cut:
                _record(store, audit)
                heads_file.write(data, updated_heads(replace(heads, audit=ChainHead()), store))
            return Reconciliation(lost=lost)
        audit = with_details(audit, lost=lost or None)
        registered = [each for each in collections if each.id in stored_ids]
        result = replace(_gap(heads, store, registered, now), lost=lost)
        _charge(store, result.charged, audit)
        restarted = Heads(
            sessions=_sessions(heads, store),
            collections=tuple(sorted(heads.collection_ids | stored_ids)),
            owed=_owed(heads, lost),
            deletions=heads.deletions,
        )
        heads_file.write(data, updated_heads(restarted, store))
    return result


def _charge(store: HeadStore, rows: Sequence[ChargeRow], audit: AuditEntry | None) -> None:
    """Charge the rows. The first new one carries the audit entry, else it is written alone."""
    for row in rows:
        if store.charge(row, lambda _: None, audit=audit) is row:
            audit = None
    _record(store, audit)


def _record(store: Audit, audit: AuditEntry | None) -> None:
    if audit is not None:
        store.record_act(audit)


def _gap(
    heads: Heads, store: HeadStore, collections: Sequence[Collection], now: float
) -> Reconciliation:
    """The missing charges of these collections, which are in the store."""
    rows = store.ledger()
    ids = {each.id for each in collections}
    whole = _exhausted(heads, rows, list(ids)).union(ids.intersection(heads.owed))
    charges = [
        *(row for row in _missing(heads, rows) if row.collection in ids),
        *_drawn_again(heads, store, rows),
        *(_whole(each, now) for each in collections if each.id in whole),
    ]
    return Reconciliation(tuple(charges), tuple(sorted(whole)))


def _owed(heads: Heads, lost: Sequence[str]) -> tuple[str, ...]:
    """The lost collections that had charges, or may have had."""
    charged = {*heads.totals, *heads.owed}
    return tuple(each for each in lost if heads.unknown or each in charged)


def _sessions(heads: Heads, store: Ledger) -> dict[str, int]:
    """The known lengths of sessions that are shorter in the database; a lost session starts again.

    A lost session is a charge without a result in the database, and is paid a second time.
    """
    sizes = {r: n for r, n in heads.sessions.items() if store.result(r) is not None}
    return sizes | dict.fromkeys(store.session_sizes(), MOST_RECORDS) if heads.unknown else sizes


def _missing(heads: Heads, rows: Sequence[ChargeRow]) -> Iterator[ChargeRow]:
    there = {row.release for row in rows}
    for each in heads.charges:
        if each.release not in there:
            yield each.row(each.release, substitute_request(each.release))


def _drawn_again(heads: Heads, store: HeadStore, rows: Sequence[ChargeRow]) -> Iterator[ChargeRow]:
    """Charges in the database without a result, if the log has lost entries."""
    if heads.unknown or store.log_head_at(heads.log.size) == heads.log.head:
        return
    for row in rows:
        if not is_substitute(row) and store.result(row.release) is None:
            name = sha256(b"drawn again " + row.release.encode()).hexdigest()[:16]
            yield replace(row, release=name, request=substitute_request(name))


def _exhausted(
    heads: Heads, rows: Sequence[ChargeRow], collections: Sequence[str]
) -> frozenset[str]:
    """Collections with charges that are too old for the file and may be missing."""
    if heads.unknown:
        return frozenset(collections)
    older = Counter(heads.totals) - Counter(each.collection for each in heads.charges)
    first = heads.ledger.size - len(heads.charges)
    if _same_before(heads.charges, rows, first):
        return frozenset()
    return frozenset(older).intersection(collections)


def _same_before(recent: Sequence[RecentCharge], rows: Sequence[ChargeRow], first: int) -> bool:
    """Whether the database still has the old charges that the file no longer lists."""
    if first == 0:
        return True
    if len(rows) <= first or not recent:
        return False
    return ledger_head(rows[: first + 1]).hex() == recent[0].head


def _whole(collection: Collection, now: float) -> ChargeRow:
    """A charge of the whole budget of every epoch that has begun."""
    budget = budget_of(collection)
    last = max(
        collection.first_epoch,
        min(collection.last_epoch, epoch_at(now, collection.manifest.epoch_seconds)),
    )
    name = sha256(f"everything of {collection.id} until {last}".encode()).hexdigest()[:16]
    return ChargeRow(
        collection=collection.id,
        release=name,
        request=substitute_request(name),
        terms=canonical_json({"mechanism": "unknown", "version": 1, "parameters": {}}),
        epochs=tuple(range(collection.first_epoch, last + 1)),
        epsilon=str(max(budget.per_epoch, budget.per_installation)),
        rho=None,
        delta=str(budget.delta),
        adjacency="replace",
        created=int(now),
    )
