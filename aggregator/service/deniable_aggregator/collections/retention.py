"""When tallies are due to be deleted: `retention_days` of the newest manifest after their epoch.

The housekeeping deletes them one to two hours later (`clock.watch`), so that a clock that is wrong
for a while deletes nothing. When they are due is the calendar's rule alone. A release goes by it
even before the housekeeping has deleted anything, so that which epochs it reads does not depend on
when that ran.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deniable_shared.manifest.epochs import epoch_end

if TYPE_CHECKING:
    from deniable_shared.manifest.model import Manifest

_DAY_SECONDS = 86_400


def is_over(manifest: Manifest, epoch: int, now: float) -> bool:
    """Whether the tallies of that epoch are due to go."""
    return now > epoch_end(epoch, manifest.epoch_seconds) + manifest.retention_days * _DAY_SECONDS


def first_kept(manifest: Manifest, now: float) -> int:
    """The oldest epoch whose tallies are not due to go."""
    edge = now - manifest.retention_days * _DAY_SECONDS
    return max(0, math.ceil(edge / manifest.epoch_seconds) - 1)
