"""`deniable access audit`: who did what, and when."""

from __future__ import annotations

import csv
import io
import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.options import (
    Target,
    csv_option,
    example,
    json_option,
    media_type,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import emit, escape_control_characters, moment, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_aggregator.client.connection import Answer, Arguments
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.access import AuditDocument, AuditEntryDocument


@click.command(
    epilog=example(
        "deniable access audit",
        "deniable access audit --act token-made --from 2027-01-01 --csv",
        "deniable access audit --verify",
        "deniable access audit --verify --json",
    )
)
@click.option("--act", help="Only this act, such as token-made.")
@click.option("--who", help="Only people and programs whose name contains this.")
@click.option("--collection", help="Only acts on this collection, by id or name.")
@click.option("--from", "first_day", metavar="DATE", help="From this day on (UTC).")
@click.option("--to", "last_day", metavar="DATE", help="Up to this day (UTC).")
@click.option("--verify", is_flag=True, help="Compute the chain of hashes again.")
@click.option(
    "--since",
    metavar="SIZE:HEAD",
    help="With --verify: a size and head that you noted earlier; the log must contain them.",
)
@service_options
@json_option
@csv_option
def audit(
    verify: bool,
    since: str | None,
    target: Target,
    as_json: bool,
    as_csv: bool,
    **wanted: str | None,
) -> None:
    """Show who did what, and when.

    --verify reads the whole log, and on the service's machine also compares it with heads.json.
    Note the size and head that it prints somewhere else. Only they show later that no one cut the
    end off or wrote the whole log again.
    """
    chosen = any(wanted.values())
    one_form(json=as_json, csv=as_csv, verify=verify and as_csv)
    if verify and chosen:
        raise click.UsageError("--verify reads the whole log: leave out what chooses entries")
    with target.connect() as client:
        if as_csv:
            _print_csv(client, wanted)
            return
        pages = list(_pages(client, wanted))
    if as_json and not verify:
        emit({"entries": list(chain.from_iterable(page.json()["entries"] for page in pages))})
        return
    entries = list(chain.from_iterable(page.document.entries for page in pages))
    if not verify:
        plain_table(("when", "act", "who", "details"), [_row(entry) for entry in entries])
        return
    size, head = _verify_chain(
        entries, since, target.settings().data if target.url is None else None
    )
    if as_json:
        emit({"size": size, "head": head})
    else:
        click.echo(f"{size:,} entries, unbroken. Note this on another machine:\n  {size}:{head}")


def _pages(client: ServiceClient, wanted: Arguments) -> Iterator[Answer[AuditDocument]]:
    """The pages of the log, of the chosen entries."""
    first: int | None = 0
    while first is not None:
        page = client.audit(first, wanted)
        yield page
        first = page.document.following(first)


def _print_csv(client: ServiceClient, wanted: Arguments) -> None:
    """Page after page, as the service writes it; the header once. The last column is the index."""
    first = 0
    while True:
        page = client.audit(first, wanted, accept=media_type(as_csv=True)).body.decode()
        rows = list(csv.reader(io.StringIO(page, newline="")))
        header, entries = rows[:1], rows[1:]
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows(entries if first else [*header, *entries])
        if not entries:
            return
        first = int(entries[-1][-1]) + 1


def _row(entry: AuditEntryDocument) -> list[str]:
    details = (f"{name}={value}" for name, value in entry.details.items() if name != "settings")
    return [
        moment(entry.at),
        *map(escape_control_characters, (entry.act, entry.actor, ", ".join(details))),
    ]


def _verify_chain(
    entries: list[AuditEntryDocument], since: str | None, data: Path | None
) -> tuple[int, str]:
    """(size, head) of the chain. Raises ForkError if it is broken or lacks the noted head."""
    from deniable_aggregator.access import audit as audit_log
    from deniable_aggregator.access.rows import AuditRow
    from deniable_aggregator.operations.doctor import audit_view

    rows = [AuditRow(entry.entry.encode(), bytes.fromhex(entry.head)) for entry in entries]
    size, head = audit_log.verify(rows)
    if data is not None:
        audit_view.require_end(rows, audit_view.noted_end(data))
    if since is not None:
        audit_log.continues(rows, since)
    return size, head.hex()
