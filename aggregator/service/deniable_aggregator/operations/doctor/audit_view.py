"""Checks that the audit log is one chain and contains the end noted in heads.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.access import audit
from deniable_aggregator.access.rows import AuditRow
from deniable_aggregator.operations.doctor import Check
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.store.ledger_rows import ChainHead
from deniable_aggregator.store.opening import open_read_only
from deniable_aggregator.store.schema_version import current_version
from deniable_shared.errors import DeniableError, ForkError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings

CURE = "run `deniable ledger reconcile` to continue from here; the log records that"
_FIRST_WITH_AUDIT = "0004"
_ROWS = "select entry, head from audit order by position"


def audit_check(settings: Settings) -> Iterator[Check]:
    """One check; none for a database of a version without an audit log."""
    try:
        if (current_version(settings) or "") < _FIRST_WITH_AUDIT:
            return
        with open_read_only(settings) as db:
            rows = [AuditRow(bytes(entry), bytes(head)) for entry, head in db.execute(_ROWS)]
        size, _ = audit.verify(rows)
        require_end(rows, noted_end(settings.data))
    except DeniableError as error:
        yield Check("fail", "audit log", str(error))
    except OSError as error:
        yield Check(
            "fail",
            "audit log",
            f"{error.filename} cannot be read ({error.strerror}): it must belong to the user that "
            "runs the service",
        )
    else:
        yield Check("ok", "audit log", f"{size:,} entries, unbroken")


def noted_end(data: Path) -> ChainHead:
    """The end of the audit log that heads.json has noted."""
    heads = heads_file.read(data)
    return ChainHead() if heads is None else heads.audit


def require_end(rows: Sequence[AuditRow], end: ChainHead) -> None:
    """Raises ForkError unless these rows contain that end."""
    if end.size and (len(rows) < end.size or rows[end.size - 1].head.hex() != end.head):
        raise ForkError(
            f"the audit log has {len(rows):,} entries and does not contain the end that "
            f"heads.json has noted, {end.size}:{end.head}: entries were removed or changed, "
            f"or the database is an older copy; {CURE}"
        )
