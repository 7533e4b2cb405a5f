"""Suspends uploads while the database does not match the data directory."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError, StoreReplacedError, StoreUnavailableError
from deniable_aggregator.releases.rollback_guard.guard import BEHIND, FileRollbackGuard
from deniable_gateway.problem import Problem, jittered
from deniable_gateway.suspension import RETRY_SECONDS, Suspension

if TYPE_CHECKING:
    from deniable_aggregator.store.protocols import Maintenance

NAME = "database"
"""The name of this reason for suspended uploads."""

REPLACED = (
    "the database was removed or replaced while the service ran: put the right one back and "
    "restart the service"
)
UNREADABLE = (
    "the database cannot be compared with heads.json in the data directory: the service's log says "
    "why"
)

logger = logging.getLogger(__name__)


class DatabaseCheck:
    """Call `check` when the database is opened, and at each run of the maintenance."""

    def __init__(
        self, store: Maintenance, guard: FileRollbackGuard, suspension: Suspension
    ) -> None:
        self._store = store
        self._guard = guard
        self._suspension = suspension
        self._was_right = False
        self._replaced = False

    def check(self) -> bool:
        """Whether the database is the right one; if not, uploads are suspended.

        Raises StoreUnavailableError if the database does not answer: nothing is known then.
        """
        reason = self._reason()
        if reason is None:
            self._was_right = True
            self._suspension.resume(NAME)
        elif reason != self._suspension.reason(NAME):
            logger.error("uploads are suspended: %s", reason)
            self._suspension.suspend(NAME, reason)
        return reason is None

    def require(self) -> None:
        """Raises Problem("unavailable") while the database is not the right one.

        Nothing signed may then be published: a device that sees two logs stops permanently.
        """
        reason = self._suspension.reason(NAME)
        if reason is not None:
            raise Problem("unavailable", reason, retry_after=jittered(RETRY_SECONDS))

    def require_same(self) -> None:
        """Raises Problem("unavailable") if the database was replaced while this process ran."""
        if self._suspension.reason(NAME) == REPLACED:
            self.require()

    def _reason(self) -> str | None:
        try:
            self._store.ping()
            self._guard.try_advance()
        except StoreUnavailableError:
            raise
        except StoreReplacedError:
            return REPLACED
        except StoreError as error:
            logger.error("the database cannot be compared with heads.json: %s", error)  # noqa: TRY400  (the error says all)
            return UNREADABLE
        if self._guard.never_compared:
            return UNREADABLE
        if self._guard.behind and self._was_right:
            # Its collections may have other row numbers than this process has cached.
            self._replaced = True
        if self._replaced:
            return REPLACED
        return BEHIND if self._guard.behind else None
