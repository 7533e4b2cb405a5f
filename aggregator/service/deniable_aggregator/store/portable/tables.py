"""What there is to carry: each table with its columns, and the order that makes its rows one text.

Deltas are not among them: a reader folds them into cells and pages. Nor are sessions and one-time
links, which must not come back to life: people sign in again. Numbers that stand for
collections and cells are carried as they are. The order is one in which the rows may be inserted:
what a row refers to comes first, and what freezes counts comes after the counts.
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
    """`columns` with their kinds; `order` sorts texts by their bytes where it says {bytes}."""

    name: str
    columns: dict[str, object]
    order: str

    @property
    def names(self) -> str:
        return ", ".join(self.columns)

    @property
    def row_type(self) -> GenericAlias:
        """What a row is decoded as."""
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
