"""`deniable access audit`: who did what that took a privilege."""

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

    from deniable_aggregator.client.connection import Answer
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.documents.access import AuditDocument, AuditEntryDocument


@click.command(
    epilog=example(
        "deniable access audit",
        "deniable access audit --verify",
        "deniable access audit --verify --json",
    )
)
@click.option("--verify", is_flag=True, help="Compute the chain of hashes again.")
@click.option(
    "--since",
    metavar="SIZE:HEAD",
    help="With --verify: size and head that were noted before must be on the way.",
)
@service_options
@json_option
@csv_option
def audit(verify: bool, since: str | None, target: Target, as_json: bool, as_csv: bool) -> None:
    """Show who did what that took a privilege.

    On the service's machine --verify also holds it against heads.json. Note the size and head that
    it prints somewhere else: only they show that no one with the whole directory in hand cut the
    end off or wrote all of it again.
    """
    one_form(json=as_json, csv=as_csv, verify=verify and as_csv)
    with target.connect() as client:
        if as_csv:
            _print_csv(client)
            return
        pages = list(_pages(client))
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
        click.echo(f"{size:,} entries, unbroken. Note this elsewhere:\n  {size}:{head}")


def _pages(client: ServiceClient) -> Iterator[Answer[AuditDocument]]:
    """The pages of the whole log."""
    read = 0
    while True:
        page = client.audit(read)
        yield page
        document = page.document
        read += len(document.entries)
        if not document.entries or read >= document.size:
            return


def _print_csv(client: ServiceClient) -> None:
    """Page after page, as the service writes it; the header once."""
    printed = 0
    while True:
        page = client.audit(printed, accept=media_type(as_csv=True)).body.decode()
        rows = list(csv.reader(io.StringIO(page, newline="")))
        header, entries = rows[:1], rows[1:]
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows(entries if printed else [*header, *entries])
        if not entries:
            return
        printed += len(entries)


def _row(entry: AuditEntryDocument) -> list[str]:
    details = (f"{name}={value}" for name, value in entry.details.items() if name != "settings")
    return [
        moment(entry.at),
        *map(escape_control_characters, (entry.act, entry.actor, ", ".join(details))),
    ]


def _verify_chain(
    entries: list[AuditEntryDocument], since: str | None, data: Path | None
) -> tuple[int, str]:
    """(size, head) of the chain; ForkError where it is broken or is not the one noted before."""
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
