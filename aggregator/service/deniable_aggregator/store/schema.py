"""The version of the database schema, and the scripts that migrate to it.

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

HEAD = "0012"
"""The version of the newest script."""

READ_VERSION = "select version_num from alembic_version"
"""Alembic, which ran the scripts of earlier programs, gave the table its name."""

# SQLite stores this text in the schema. With Alembic's exact spelling all files have the same text.
_CREATE_VERSION_TABLE = (
    "create table if not exists alembic_version (\n"
    "\tversion_num VARCHAR(32) NOT NULL, \n"
    "\tCONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)

_COMPUTED = {"0009": checksums.fill}
"""Version → the Python part of a migration; it runs in the transaction of the script."""


def refuse_newer(version: str | None, where: str) -> None:
    """Raises StoreError for a schema that is newer than this program."""
    if version is not None and version > HEAD:
        raise StoreError(
            f"{where} has schema {version}, but this program supports only up to {HEAD}: "
            "install the deniable-aggregator that wrote it, or a newer one"
        )


def upgrade(
    database: str,
    begin: Callable[[], AbstractContextManager[Statements]],
    *,
    run_script: Callable[[str], object],
) -> None:
    """Run the missing scripts. `begin` opens a transaction that excludes other migrations."""
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
    """The present version of the database; an empty text, which sorts first, if it has none."""
    db.execute(_CREATE_VERSION_TABLE)
    row = db.execute(READ_VERSION).fetchone()
    return "" if row is None else str(row[0])
