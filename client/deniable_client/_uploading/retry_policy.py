"""What the client does after each reply of the aggregator, as data.

| answer                          | action                                                   |
| 200, id not listed              | done                                                     |
| 0x0B outdated key               | fetch keys once, re-seal the same payload                |
| 0x80 manifest unknown           | fetch the manifest; drop the report, do not re-randomize |
| 0x09 too early                  | keep, retry after 6 h                                    |
| 0x85 voucher invalid            | keep, ask for another voucher after 6 h                  |
| other per-report codes          | drop, count                                              |
| `invalid-message`, `too-large`, | drop the row, stop uploading in this process             |
| `unsupported-media-type`        |                                                          |
| `collection-closed`             | drop the collection's queue                              |
| no voucher to send it with      | keep, ask again within 15 minutes                        |
| anything else                   | back off: no other reply may drop a report               |

All but the last line apply only to replies of the aggregator itself: see
`deniable_shared.wire.replies`. The last line covers its other problems (404 too: an empty server at
the right address sends it), and every reply of something else: redirects, sign-in pages, error
pages of proxies. Backing off ends when the epoch closes. No action randomizes anything again.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_shared.wire.problems import ReportError

if TYPE_CHECKING:
    from collections.abc import Mapping

BACK_OFF_BASE_SECONDS = 30.0
BACK_OFF_CAP_SECONDS = 6 * 3600.0
TOO_EARLY_SECONDS = 6 * 3600.0
VOUCHER_SPAN_SECONDS = 900.0
"""The longest wait, in seconds, while the app's backend has no voucher."""

_LAST_DOUBLING = 10  # 30 s doubled ten times is past the cap


class Action(StrEnum):
    """What happens to the report."""

    DONE = "done"
    RESEAL = "reseal"
    FETCH_MANIFEST = "fetch-manifest"
    LATER = "later"
    AWAIT_VOUCHER = "await-voucher"
    DROP = "drop"
    BACK_OFF = "back-off"
    DROP_AND_STOP = "drop-and-stop"
    DROP_COLLECTION = "drop-collection"


BY_CODE: Mapping[int, Action] = MappingProxyType(
    {
        ReportError.OUTDATED_KEY: Action.RESEAL,
        ReportError.MANIFEST_UNKNOWN: Action.FETCH_MANIFEST,
        ReportError.TOO_EARLY: Action.LATER,
        ReportError.VOUCHER_INVALID: Action.LATER,
    }
)
BY_PROBLEM: Mapping[str, Action] = MappingProxyType(
    {
        "invalid-message": Action.DROP_AND_STOP,
        "collection-closed": Action.DROP_COLLECTION,
        "too-large": Action.DROP_AND_STOP,
        "unsupported-media-type": Action.DROP_AND_STOP,
    }
)


def for_code(code: int) -> Action:
    """Return the action for a report that the aggregator listed as failed."""
    return BY_CODE.get(code, Action.DROP)


def for_problem(slug: str) -> Action:
    """Return the action for a request that the aggregator rejected as a whole."""
    return BY_PROBLEM.get(slug, Action.BACK_OFF)


def back_off_span(attempts: int) -> float:
    """Return the longest wait before the next attempt, in seconds; the wait is drawn below it."""
    doubled = BACK_OFF_BASE_SECONDS * (1 << min(max(attempts - 1, 0), _LAST_DOUBLING))
    return min(doubled, BACK_OFF_CAP_SECONDS)
