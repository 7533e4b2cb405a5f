"""Reports of one batch, by epoch and by cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import AcceptedReport, Counts, TallyKernel, TallyKey


def group_by_epoch(reports: Sequence[AcceptedReport]) -> dict[tuple[str, int], list[int]]:
    """(collection, epoch) → positions in the batch, rising."""
    positions: dict[tuple[str, int], list[int]] = {}
    for position, report in enumerate(reports):
        key = report.key
        positions.setdefault((key.collection, key.epoch), []).append(position)
    return positions


def tally_payloads(key: TallyKey, payloads: Sequence[bytes], tally: TallyKernel) -> Counts:
    """The kernel over payloads of one cell."""
    joined = np.frombuffer(b"".join(payloads), np.uint8)
    return tally(key, joined.reshape(len(payloads), -1))


def length_error(key: TallyKey, length: int) -> StoreError:
    """A cell's tally has one length for good."""
    return StoreError(f"the tally of {key} has changed its length to {length}")
