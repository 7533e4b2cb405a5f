"""The database schema: which version this program has, and the scripts that lead there.

A migration is a numbered SQL script, `migrations/<database>/<version>_<name>.sql`. Scripts run
forward only: an older program never opens a newer database.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.migrations import checksums

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from deniable_aggregator.store.statements import Statements

FOLDER = Path(__file__).parent / "migrations"

HEAD = "0010"
"""The version of the newest script."""

READ_VERSION = "select version_num from alembic_version"
"""The table has the name that Alembic gave it, which ran the scripts of earlier programs."""

# SQLite keeps this text in the schema: spelled as Alembic spelled it, it is the same in every file.
_CREATE_VERSION_TABLE = (
    "create table if not exists alembic_version (\n"
    "\tversion_num VARCHAR(32) NOT NULL, \n"
    "\tCONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)

_COMPUTED = {"0009": checksums.fill}
"""By version, what SQL cannot do; it runs in the transaction of the script."""


def refuse_newer(version: str | None, where: str) -> None:
    """Raises StoreError for a schema that this program does not know."""
    if version is not None and version > HEAD:
        raise StoreError(
            f"{where} has schema {version}, this program knows up to {HEAD}: "
            "install the deniable-aggregator that wrote it, or a newer one"
        )


def upgrade(
    database: str,
    begin: Callable[[], AbstractContextManager[Statements]],
    *,
    run_script: Callable[[str], object],
) -> None:
    """Run what is missing. `begin` opens a transaction and keeps other processes from migrating."""
    for script in sorted((FOLDER / database).glob("*.sql")):
        version = script.name.partition("_")[0]
        with begin() as db:
            if version > _version(db):
                run_script(script.read_text(encoding="utf-8"))
                if version in _COMPUTED:
                    _COMPUTED[version](db, database)
                db.execute("delete from alembic_version")
                db.execute("insert into alembic_version (version_num) values (?)", (version,))


def _version(db: Statements) -> str:
    """The version that the database has now; before every other one where it has none."""
    db.execute(_CREATE_VERSION_TABLE)
    row = db.execute(READ_VERSION).fetchone()
    return "" if row is None else str(row[0])
