"""Whether the database is damaged: every count, manifest and entry against its checksum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deniable_aggregator.errors import AggregatorError
from deniable_aggregator.inspection.check import Check
from deniable_aggregator.keys import read_trust
from deniable_aggregator.store import journal, schema
from deniable_aggregator.store.connections import INDEXED, require_whole
from deniable_aggregator.store.migrating import revision
from deniable_aggregator.store.opening import read_beside
from deniable_aggregator.store.portable.reading import Snapshot, snapshot
from deniable_aggregator.store.portable.soundness import damages
from deniable_shared import dsse
from deniable_shared.errors import DeniableError
from deniable_shared.manifest import MANIFEST_TYPE

if TYPE_CHECKING:
    from deniable_aggregator.settings import Settings

_QUICK = "pragma quick_check(1)"
MOST_NAMED = 20


def damage_checks(settings: Settings) -> Iterator[Check]:
    """A line for each damage, at most 20; one line where there is none."""
    try:
        if revision(settings) != schema.HEAD:  # another check speaks of that
            return
        if not settings.shared:
            _require_whole_file(settings)
        with snapshot(settings) as database:
            said = [*damages(database), *_unsigned(database, read_trust(settings.data))]
    except AggregatorError as error:
        yield Check("fail", "counts", str(error))
        return
    for sentence in said[:MOST_NAMED]:
        yield Check("fail", "counts", sentence)
    if len(said) > MOST_NAMED:
        yield Check("fail", "counts", f"and {len(said) - MOST_NAMED:,} more")
    if not said:
        yield Check("ok", "counts", "every count, manifest and entry is as it was written")


def _unsigned(database: Snapshot, trust: str) -> Iterator[str]:
    """A sentence for each manifest whose signature is damaged: the service would not start."""
    for row in journal.manifests(database.statements):
        try:
            dsse.verify(row.envelope, payload_type=MANIFEST_TYPE, trusted=[trust])
        except DeniableError as error:
            yield (
                f"manifest {row.version} of {row.collection} in the database is refused: {error}. "
                "Restore a backup with `deniable restore`"
            )


def _require_whole_file(settings: Settings) -> None:
    """Raises StoreError."""
    with read_beside(settings) as db:
        require_whole(db, str(settings.database), INDEXED)
        [[verdict]] = db.execute(_QUICK).fetchall()
        if verdict != "ok":
            raise AggregatorError(
                f"{settings.database} is damaged ({str(verdict)[:100]}): "
                "restore a backup with `deniable restore`"
            )
