"""`deniable sessions`: who is signed in to the pages."""

from __future__ import annotations

import click

from deniable_aggregator.cli.access_tables import access_table
from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import emit, show

COLUMNS = ("id", "name", "role", "collections", "via", "created", "expires")


@click.group()
def sessions() -> None:
    """See who is signed in; sign them out."""


@sessions.command("list", epilog=example("deniable sessions list"))
@service_options
@json_option
def list_sessions(target: Target, as_json: bool) -> None:
    """Show who is signed in, how, and until when."""
    with target.connect() as client:
        answer = client.sessions()
    show(answer, lambda document: access_table(COLUMNS, document.sessions), as_json=as_json)


@sessions.command(epilog=example("deniable sessions end 3f9a01c2b4de"))
@click.argument("session_id", metavar="ID")
@service_options
@json_option
def end(session_id: str, target: Target, as_json: bool) -> None:
    """Sign a person out, at once."""
    with target.connect() as client:
        client.end_session(session_id)
    if as_json:
        emit({"id": session_id, "ended": True})
    else:
        click.echo(f"Ended {session_id}")
