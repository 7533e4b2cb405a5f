"""`deniable migrate` and `deniable copy-store`: the database, brought up to date or moved."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit


@click.command(epilog=example("deniable migrate"))
@data_option
@json_option
def migrate(data: Path | None, as_json: bool) -> None:
    """Bring the database to this program's schema.

    `deniable serve` does the same when it starts; an older program opens it no more.
    """
    from deniable_aggregator.store.schema_version import migrate

    before, after = migrate(settings_for(data))
    if as_json:
        emit({"before": before, "after": after})
    elif before == after:
        click.echo(f"The database has schema {after} already")
    else:
        click.echo(f"The database had {before or 'no schema'} and has schema {after} now")


@click.command(
    "copy-store",
    epilog=example("deniable copy-store --to postgresql://deniable@db.example.org/deniable"),
)
@click.option(
    "--to", "url", required=True, metavar="URL", help="An empty postgresql:// or sqlite:/// store."
)
@data_option
@json_option
def copy_store(url: str, data: Path | None, as_json: bool) -> None:
    """Copy the database into another store.

    From SQLite to PostgreSQL or back. Stop the service first: what it takes meanwhile would be
    lost. Every row is read back, and the heads of ledger and log are computed again.
    """
    from deniable_aggregator.operations.backup.copying import copy_store as copied

    settings = settings_for(data)
    tables = copied(settings, url)
    rows = sum(table.rows for table in tables.values())
    if as_json:
        emit({"rows": rows, "tables": {name: table.rows for name, table in tables.items()}})
        return
    click.echo(f"Copied {rows:,} rows, and read every one back")
    click.echo(
        f"Set store in {settings.data / 'deniable.toml'} (or DENIABLE_STORE) to use the copy"
    )
