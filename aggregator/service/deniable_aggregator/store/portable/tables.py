"""The tables of a copy, with their columns and the order of their rows.

A copy has no deltas, because a reader folds them into cells and pages. It has no sessions and
one-time links, so that old ones do not become valid again: people sign in again. The row numbers of
collections and cells stay the same. Rows can be inserted in the given order: a row comes after
those it refers to, and closed epochs come after their counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import GenericAlias

Row = tuple[int | str | bytes | None, ...]
_KINDS: dict[str, object] = {
    "int": int,
    "str": str,
    "bytes": bytes,
    "int?": int | None,
    "str?": str | None,
}


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` with their types; `order` sorts by bytes the columns with {bytes}."""

    name: str
    columns: dict[str, object]
    order: str

    @property
    def names(self) -> str:
        return ", ".join(self.columns)

    @property
    def row_type(self) -> GenericAlias:
        """The type of a decoded row."""
        return GenericAlias(tuple, tuple(self.columns.values()))


def _table(name: str, columns: str, order: str) -> Table:
    kinds = (column.split() for column in columns.split(","))
    return Table(name, {column: _KINDS[kind] for column, kind in kinds}, order)


TABLES = (
    _table("collections", "number int, id str, closed int, archived int", "number"),
    _table("log", "position int, type str, body_hash bytes, head bytes", "position"),
    _table(
        "manifests",
        "position int, collection int, version int, name str, digest bytes, envelope bytes",
        "position",
    ),
    _table("deleted_manifests", "number int, position int, collection str, version int", "number"),
    _table(
        "key_lists",
        "version int, position int, issued int, expires int, digest bytes, envelope bytes",
        "version",
    ),
    _table(
        "cells",
        "number int, collection int, epoch int, manifest_version int, cohort int, n int, "
        "tally_size int, seal int, body int",
        "number",
    ),
    _table("pages", "cell int, page int, counts bytes", "cell, page"),
    _table("seen", "collection int, epoch int, id bytes", "collection, epoch, id"),
    _table("vouchers", "collection int, epoch int, serial bytes", "collection, epoch, serial"),
    _table(
        "closed_epochs",
        "collection int, epoch int, closed_at int, seal int",
        "collection, epoch",
    ),
    _table(
        "expired_epochs",
        "collection int, epoch int, expired_at int, seal int",
        "collection, epoch",
    ),
    _table(
        "notes",
        "id str, collection int, at int, body str, author str, created int",
        "id {bytes}",
    ),
    _table(
        "alerts",
        "id str, collection int, url str, secret bytes, author str, created int, periods int, "
        "risk str, looks int, compared int, ended int?",
        "id {bytes}",
    ),
    _table(
        "deliveries",
        "id str, alert str, body bytes, created int, attempts int, next int?, sent int?",
        "id {bytes}",
    ),
    _table("spools", "place str, counted_until int", "place {bytes}"),
    _table("counted_blocks", "job str, block str", "job {bytes}, block {bytes}"),
    _table("rejections", "collection int, reason str, n int", "collection, reason {bytes}"),
    _table(
        "tokens",
        "rowid int, id str, role str, label str, hash bytes, created int, expires int?, "
        "revoked int?, collections str?",
        "rowid",
    ),
    _table(
        "users",
        "rowid int, name str, role str, collections str?, password str, created int",
        "rowid",
    ),
    _table("audit", "position int, entry bytes, head bytes", "position"),
    _table(
        "charges",
        "position int, collection int, release str, request bytes, terms bytes, epochs str, "
        "epsilon str?, rho str?, delta str, adjacency str, created int, checksum int",
        "position",
    ),
    _table("results", "release str, position int, salt bytes, document bytes", "position"),
    _table(
        "session_records",
        "release str, number int, record bytes, checksum int",
        "release {bytes}, number",
    ),
)
