"""The periods that a comparison takes where the caller names none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.client.errors import QueryError

if TYPE_CHECKING:
    from deniable_aggregator.documents.collections import EpochsDocument

WEEK_SECONDS = 7 * 86_400


def usual_periods(document: EpochsDocument) -> dict[str, str]:
    """The newest closed week against the week before; of a shorter history, its newer half.

    Raises QueryError if fewer than two epochs are closed.
    """
    closed = [row.epoch for row in document.epochs if row.state == "closed" and not row.expired]
    size = min(max(WEEK_SECONDS // document.epoch_seconds, 1), len(closed) // 2)
    if not size:
        raise QueryError(
            f"a comparison needs two closed periods, and {document.collection} has {len(closed)}: "
            "name both periods, or wait"
        )
    before, after = closed[-2 * size : -size], closed[-size:]
    ends = {"before_from": before[0], "before_to": before[-1], "from": after[0], "to": after[-1]}
    return {name: str(epoch) for name, epoch in ends.items()}
