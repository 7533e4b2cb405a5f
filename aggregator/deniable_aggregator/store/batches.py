"""Reports of one batch, by epoch and by cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store.rows import Arrival, Cell, Counts, Tally


def by_epoch(arrivals: Sequence[Arrival]) -> dict[tuple[str, int], list[int]]:
    """(collection, epoch) → places in the batch, rising."""
    places: dict[tuple[str, int], list[int]] = {}
    for place, arrival in enumerate(arrivals):
        cell = arrival.cell
        places.setdefault((cell.collection, cell.epoch), []).append(place)
    return places


def tallied(cell: Cell, payloads: Sequence[bytes], tally: Tally) -> Counts:
    """The kernel over payloads of one cell."""
    joined = np.frombuffer(b"".join(payloads), np.uint8)
    return tally(cell, joined.reshape(len(payloads), -1))


def length_changed(cell: Cell, length: int) -> StoreError:
    """A cell's tally has one length for good."""
    return StoreError(f"the tally of {cell} has changed its length to {length}")
