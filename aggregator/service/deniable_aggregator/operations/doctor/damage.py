"""Checks every count, manifest and entry of the database against its checksum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import AggregatorError, StoreError
from deniable_aggregator.keys import read_trust
from deniable_aggregator.operations.doctor import Check
from deniable_aggregator.store import schema, transparency_log
from deniable_aggregator.store.opening import open_read_only, require_portable
from deniable_aggregator.store.portable.integrity import find_damage
from deniable_aggregator.store.portable.snapshot import Snapshot, snapshot
from deniable_aggregator.store.schema_version import current_version
from deniable_aggregator.store.sqlite.connections import INDEXED_TABLES, require_intact
from deniable_shared.errors import DeniableError
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.base.settings import Settings

_QUICK = "pragma quick_check(1)"
MOST_NAMED = 20


def damage_checks(settings: Settings) -> Iterator[Check]:
    """One check for each damage, at most 20; one "ok" if there is none."""
    try:
        require_portable(settings)
    except StoreError as error:
        yield Check("warn", "counts", str(error))
        return
    try:
        if current_version(settings) != schema.HEAD:  # another check reports that
            return
        if not settings.shared:
            _require_whole_file(settings)
        with snapshot(settings) as database:
            said = [*find_damage(database), *_signature_checks(database, read_trust(settings.data))]
    except AggregatorError as error:
        yield Check("fail", "counts", str(error))
        return
    for sentence in said[:MOST_NAMED]:
        yield Check("fail", "counts", sentence)
    if len(said) > MOST_NAMED:
        yield Check("fail", "counts", f"and {len(said) - MOST_NAMED:,} more")
    if not said:
        yield Check("ok", "counts", "every count, manifest and entry matches its checksum")


def _signature_checks(database: Snapshot, trust: str) -> Iterator[str]:
    """A sentence for each manifest whose signature is damaged: the service would not start."""
    for row in transparency_log.manifests(database.statements):
        try:
            dsse.verify(row.envelope, payload_type=MANIFEST_TYPE, trusted=[trust])
        except DeniableError as error:
            yield (
                f"manifest {row.version} of {row.collection} in the database is refused: {error}. "
                "Restore a backup with `deniable store restore`"
            )


def _require_whole_file(settings: Settings) -> None:
    """Raises StoreError if the database file is damaged."""
    with open_read_only(settings) as db:
        require_intact(db, str(settings.database), INDEXED_TABLES)
        [[verdict]] = db.execute(_QUICK).fetchall()
        if verdict != "ok":
            raise AggregatorError(
                f"{settings.database} is damaged ({str(verdict)[:100]}): "
                "restore a backup with `deniable store restore`"
            )
