"""Blocks counted in transactions of any size come to what one report after another comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.store.rows import BlockId, CommitStatus, PartialTally, TallyKey
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrivals,
    counted,
    ids_kept,
    report_id,
    rows,
    sums,
)
from support.tiers import by_tier

COUNTED, DUPLICATE, CLOSED = CommitStatus.COUNTED, CommitStatus.DUPLICATE, CommitStatus.CLOSED
ID, OPEN, DUE = range(6), 0, 1
Reports = Mapping[tuple[int, int], tuple[int, int]]
another = count(EPOCH + 100, 2)

reports = st.dictionaries(
    st.tuples(st.sampled_from([OPEN, DUE]), st.sampled_from(ID)),
    st.tuples(st.integers(1, 2), st.integers(0, 255)),
)
"""(epoch after the first, id) → (manifest version, payload)."""


def parts_of(reports: Reports, first_epoch: int = EPOCH) -> Iterator[PartialTally]:
    """As a worker gives them: cell by cell."""
    cells: dict[TallyKey, dict[bytes, int]] = {}
    for (later, number), (version, payload) in reports.items():
        cell = TallyKey(COLLECTION, first_epoch + later, version)
        cells.setdefault(cell, {})[report_id(number)] = payload
    for cell, found in cells.items():
        payloads = np.array(list(found.values()), np.uint8).reshape(-1, 1)
        yield PartialTally(cell, list(found), payloads, sums(cell, payloads))


def commit(
    store: AnyStore, named: Sequence[tuple[str, Reports]], first_epoch: int = EPOCH
) -> list[Mapping[tuple[str, CommitStatus], int] | None]:
    found = [(BlockId("job", name), list(parts_of(each, first_epoch))) for name, each in named]
    return list(store.commit_blocks(found, sums))


@given(st.lists(reports, max_size=6), st.sets(st.sampled_from(ID)), st.sets(st.integers(0, 5)))
@settings(
    max_examples=by_tier(12, 50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_each_id_counts_in_the_first_block_that_has_it(
    store: AnyStore, found: list[Reports], uploaded: set[int], cuts: set[int]
) -> None:
    epoch = next(another)
    store.commit(arrivals(sorted(uploaded), b"\x03", epoch=epoch + OPEN), sums)
    store.close_epoch(COLLECTION, epoch + DUE, 0, audit=None)
    named = [(f"{epoch} {place}", each) for place, each in enumerate(found)]
    bounds = [0, *sorted(cuts), len(named)]
    verdicts = [
        each for first, last in pairwise(bounds) for each in commit(store, named[first:last], epoch)
    ]
    known, total, wanted = set(uploaded), 3 * len(uploaded), []
    for block in found:
        outcomes: Counter[tuple[str, CommitStatus]] = Counter()
        for (later, number), (_, payload) in block.items():
            fresh = later == OPEN and number not in known
            outcomes[COLLECTION, COUNTED if fresh else CLOSED if later else DUPLICATE] += 1
            total += payload if fresh else 0
            known |= {number} if fresh else set()
        wanted.append(outcomes)
    assert [+Counter(each) for each in verdicts if each is not None] == wanted
    assert counted(store).get(epoch + OPEN, (0, [0])) == (len(known), [total])
    assert epoch + DUE not in counted(store)


def test_a_counted_block_adds_nothing_to_a_later_transaction(
    store: AnyStore, database: Database
) -> None:
    first, second = {(0, 1): (1, 5), (0, 2): (1, 6)}, {(0, 2): (1, 9), (0, 3): (1, 7)}
    assert commit(store, [("a", first)]) == [{(COLLECTION, COUNTED): 2, (COLLECTION, DUPLICATE): 0}]
    again, new = commit(store, [("a", {(0, 4): (1, 80)}), ("b", second)])
    assert (again, new) == (None, {(COLLECTION, COUNTED): 1, (COLLECTION, DUPLICATE): 1})
    assert counted(store) == {EPOCH: (3, [18])}
    assert (ids_kept(database), rows(database, "counted_blocks")) == (3, 2)


def test_thousands_of_ids_are_told_apart_as_few_are(store: AnyStore, database: Database) -> None:
    many = {(0, number): (1, 1) for number in range(1_000)}
    store.commit(arrivals(range(0, 1_000, 300)), sums)
    [verdicts] = commit(store, [("a", many)])
    assert verdicts == {(COLLECTION, COUNTED): 996, (COLLECTION, DUPLICATE): 4}
    assert counted(store) == {EPOCH: (1_000, [1_000])}
    assert ids_kept(database) == 1_000
