"""The schema of this program and how a database gets there; `sqlite.schema`, `postgres.schema`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Engine

HEAD = "0010"
"""The newest revision in migrations/versions."""


def refuse_newer(revision: str | None, where: str) -> None:
    """StoreError for a schema that this program does not know."""
    if revision is not None and revision > HEAD:
        raise StoreError(
            f"{where} has schema {revision}, this program knows up to {HEAD}: "
            "install the deniable-aggregator that wrote it, or a newer one"
        )


def upgrade(engine: Engine) -> None:
    """Run what is missing, each migration in a transaction of its own."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.exc import DBAPIError

    config = Config()
    config.set_main_option("script_location", "deniable_aggregator.store:migrations")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except DBAPIError as error:
            raise StoreError(f"the database cannot be upgraded: {error.orig}") from error
