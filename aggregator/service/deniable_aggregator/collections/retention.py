"""Decides when tallies are deleted: `retention_days` of the newest manifest after their epoch.

The maintenance deletes them one to two hours later (`clock.watch`), so that a clock that is wrong
for a while deletes nothing. The calendar alone decides when they are due. A release follows it even
before the maintenance has deleted them, so its epochs do not depend on when the maintenance ran.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import epoch_end

if TYPE_CHECKING:
    from deniable_shared.manifest.model import Manifest

_DAY_SECONDS = 86_400


def is_over(manifest: Manifest, epoch: int, now: float) -> bool:
    """Whether the tallies of that epoch are due for deletion."""
    return now > epoch_end(epoch, manifest.epoch_seconds) + manifest.retention_days * _DAY_SECONDS


def first_kept(manifest: Manifest, now: float) -> int:
    """The oldest epoch whose tallies are not due for deletion."""
    edge = now - manifest.retention_days * _DAY_SECONDS
    return max(0, math.ceil(edge / manifest.epoch_seconds) - 1)
