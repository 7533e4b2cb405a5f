"""`deniable audit`: who did what that took a privilege, and whether the record still stands."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.access_tables import moment
from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import emit, plain_table, rows_of, visible

if TYPE_CHECKING:
    from deniable_aggregator.process.connection import Connection


@click.command(
    epilog=example("deniable audit", "deniable audit --verify", "deniable audit --verify --json")
)
@click.option("--verify", is_flag=True, help="Compute the chain of hashes anew.")
@click.option(
    "--since",
    metavar="SIZE:HEAD",
    help="With --verify: size and head that were noted before must be on the way.",
)
@service_options
@json_option
@csv_option
def audit(
    verify: bool,
    since: str | None,
    url: str | None,
    data: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show who did what that took a privilege.

    On the service's machine --verify also holds it against heads.json. Note the size and head that
    it prints somewhere else: only they show that nobody with the whole directory in hand cut the
    end off or wrote all of it anew.
    """
    one_form(json=as_json, csv=as_csv, verify=verify and as_csv)
    target = Target(url, data)
    with target.connect() as connection:
        if as_csv:
            _print_csv(connection)
            return
        entries = _every(connection)
    if not verify:
        _show(entries, as_json=as_json)
        return
    size, head = _verified(entries, since, target.settings().data if url is None else None)
    if as_json:
        emit({"size": size, "head": head})
    else:
        click.echo(f"{size:,} entries, unbroken. Note this elsewhere:\n  {size}:{head}")


def _every(connection: Connection) -> list[dict[str, object]]:
    """All entries up to the size that the first page told."""
    entries: list[dict[str, object]] = []
    while True:
        page = connection.get_json("/v1/audit", **{"from": len(entries)})
        found = rows_of(page["entries"])
        entries += found
        if not found or len(entries) >= int(str(page["size"])):
            return entries


def _print_csv(connection: Connection) -> None:
    """Page after page, as the service writes it; the header once."""
    printed = 0
    while True:
        page = connection.get("/v1/audit", accept="text/csv", **{"from": printed}).decode()
        rows = list(csv.reader(io.StringIO(page, newline="")))
        header, entries = rows[:1], rows[1:]
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows(entries if printed else [*header, *entries])
        if not entries:
            return
        printed += len(entries)


def _show(entries: list[dict[str, object]], *, as_json: bool) -> None:
    if as_json:
        emit({"entries": entries})
        return
    plain_table(("when", "act", "who", "details"), [_row(entry) for entry in entries])


def _row(entry: dict[str, object]) -> list[str]:
    details = entry["details"]
    told = details.items() if isinstance(details, dict) else ()
    shown = ", ".join(f"{name}={value}" for name, value in told if name != "settings")
    texts = (entry["act"], entry["actor"], shown)
    return [moment(int(str(entry["at"]))), *(visible(str(text)) for text in texts)]


def _verified(
    entries: list[dict[str, object]], since: str | None, data: Path | None
) -> tuple[int, str]:
    """(size, head) of the chain; ForkError where it is broken or is not the one noted before."""
    from deniable_aggregator.access import audit as chain
    from deniable_aggregator.access.contract import AuditRow
    from deniable_aggregator.inspection import acts
    from deniable_shared.errors import ForkError

    rows = [
        AuditRow(str(entry["entry"]).encode(), bytes.fromhex(str(entry["head"])))
        for entry in entries
    ]
    size, head = chain.verify(rows)
    if data is not None:
        acts.require_end(rows, acts.known_end(data))
    if since is not None:
        noted, _, wanted = since.partition(":")
        heads = ["00" * 32, *(row.head.hex() for row in rows)]
        if not noted.isdecimal() or int(noted) >= len(heads) or heads[int(noted)] != wanted:
            raise ForkError(f"the audit log is not the one of {since[:80]}, continued")
    return size, head.hex()
