"""Stores many uploads in one transaction, and returns each one's own outcome.

If the whole batch fails, one of its uploads may be the cause. They are then stored one by one, so
that the others are not refused. If the first few fail alone, too, the store itself has failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from deniable_gateway.problem import Problem
from deniable_gateway.upload.upload_queue import Outcome, not_stored
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import ReportStatus

if TYPE_CHECKING:
    from deniable_gateway.upload.gate import Arrival

A = TypeVar("A")

TRIED_ALONE = 2
"""If this many fail alone in a row, the store has failed, not an upload."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Checked(Generic[A]):
    """The reports of one upload: those to store, by their ids, and those that are rejected."""

    ids: list[bytes] = field(default_factory=list)
    accepted: list[A] = field(default_factory=list)
    rejected: list[ReportStatus] = field(default_factory=list)

    def accept(self, report_id: bytes, report: A) -> None:
        """Add a report to store."""
        self.ids.append(report_id)
        self.accepted.append(report)


Store = Callable[[Sequence[A]], Sequence[ReportError | None]]
"""Makes reports durable, all or none. Returns for each why it is rejected, None if accepted."""


def store_together(
    arrivals: Sequence[Arrival], *, check: Callable[[Arrival], Checked[A]], store: Store[A]
) -> Sequence[Outcome]:
    """Return an outcome for each upload, in order. `check` raises Problem for a whole upload."""
    checked = [_checked(arrival, check) for arrival in arrivals]
    waiting = [each for each in checked if isinstance(each, Checked) and each.accepted]
    failed = _store(waiting, store)
    return [_outcome(each, failed) for each in checked]


def _checked(arrival: Arrival, check: Callable[[Arrival], Checked[A]]) -> Checked[A] | Problem:
    try:
        return check(arrival)
    except Problem as problem:
        return problem
    except Exception:
        logger.exception("an upload failed")
        return Problem("internal", "the upload failed: try again")


def _store(waiting: Sequence[Checked[A]], store: Store[A]) -> set[int]:
    """Store all. Returns the identities of the uploads that could not be stored."""
    try:
        _store_all(waiting, store)
    except Exception:
        logger.exception("a commit of %d reports failed", sum(len(each.ids) for each in waiting))
        return _store_one_by_one(waiting, store) if len(waiting) > 1 else set(map(id, waiting))
    return set()


def _store_one_by_one(waiting: Sequence[Checked[A]], store: Store[A]) -> set[int]:
    failed = set(map(id, waiting))
    in_a_row = 0
    for each in waiting:
        try:
            _store_all([each], store)
        except Exception:
            logger.exception("a commit of %d reports failed alone", len(each.ids))
            in_a_row += 1
            if in_a_row == TRIED_ALONE:
                break
        else:
            failed.discard(id(each))
            in_a_row = 0
    return failed


def _store_all(waiting: Sequence[Checked[A]], store: Store[A]) -> None:
    reports = [report for each in waiting for report in each.accepted]
    if not reports:
        return
    errors = iter(store(reports))
    for each in waiting:
        for report_id in each.ids:
            error = next(errors)
            if error is not None:
                each.rejected.append(ReportStatus(report_id, error))


def _outcome(checked: Checked[A] | Problem, failed: set[int]) -> Outcome:
    if isinstance(checked, Problem):
        return checked
    return not_stored() if id(checked) in failed else checked.rejected
