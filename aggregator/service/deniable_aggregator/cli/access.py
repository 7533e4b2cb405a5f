"""`deniable access`: tokens for programs, people and their sessions, and the audit log."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import compress
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.audit import audit
from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.links import links
from deniable_aggregator.cli.options import (
    Target,
    collection_option,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import access_table, emit, show
from deniable_aggregator.cli.users import users

if TYPE_CHECKING:
    from deniable_aggregator.documents.access import TokenDocument

ROLES = ("viewer", "analyst", "admin", "relay", "metrics")
SESSION_COLUMNS = ("id", "name", "role", "collections", "via", "created", "expires")


@click.group(cls=CommandGroup)
def access() -> None:
    """Give access to people and programs, and see who did what.

    Programs use tokens. People use passwords, one-time links or a sign-in provider.
    """


@access.group()
def tokens() -> None:
    """Give programs access, and take it away.

    A viewer reads estimates, an analyst may also spend privacy budget, an admin may do everything.
    relay may only pass on many reports at once; metrics may only read /metrics. Devices need no
    token.
    """


@tokens.command(
    epilog=example(
        "deniable access tokens new --role viewer --label Grafana --expires 365",
        "deniable access tokens new --role analyst --label Ana --collection settings",
        "deniable access tokens new --role metrics --label Prometheus",
    )
)
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option("--label", required=True, help="Who it is for: 1 to 64 characters.")
@collection_option
@click.option(
    "--expires", type=click.IntRange(1, 3650), metavar="DAYS", help="End after this many days."
)
@service_options
@json_option
def new(
    role: str,
    label: str,
    collections: tuple[str, ...],
    expires: int | None,
    target: Target,
    as_json: bool,
) -> None:
    """Make a token and print it. It cannot be printed again."""
    with target.connect() as client:
        made = client.make_token(role, label, collections=collections, expires_days=expires)
    show(made, lambda document: click.echo(document.token), as_json=as_json)


@tokens.command(
    "list", epilog=example("deniable access tokens list", "deniable access tokens list --all")
)
@click.option("--all", "everything", is_flag=True, help="Show revoked and expired tokens, too.")
@service_options
@json_option
def list_tokens(target: Target, everything: bool, as_json: bool) -> None:
    """List the tokens, without their secret parts."""
    with target.connect() as client:
        answer = client.tokens()
    now = datetime.now(UTC).timestamp()
    rows = answer.document.tokens
    listed = [everything or _is_valid(row, now) for row in rows]
    if as_json:
        emit({"tokens": list(compress(answer.json()["tokens"], listed))})
        return
    columns = ["id", "role", "label", "collections", "created", "expires"]
    columns += ["revoked"] if everything else []
    access_table(columns, compress(rows, listed))


@tokens.command(epilog=example("deniable access tokens revoke 3f9a01c2b4de"))
@click.argument("token_id", metavar="ID")
@service_options
@json_option
def revoke(token_id: str, target: Target, as_json: bool) -> None:
    """Revoke a token, at once and permanently."""
    with target.connect() as client:
        client.revoke_token(token_id)
    if as_json:
        emit({"id": token_id, "revoked": True})
    else:
        click.echo(f"Revoked {token_id}")


access.add_command(links)
access.add_command(users)


@access.group()
def sessions() -> None:
    """See who is signed in, and sign people out."""


@sessions.command("list", epilog=example("deniable access sessions list"))
@service_options
@json_option
def list_sessions(target: Target, as_json: bool) -> None:
    """Show who is signed in, how, and until when."""
    with target.connect() as client:
        answer = client.sessions()
    show(answer, lambda document: access_table(SESSION_COLUMNS, document.sessions), as_json=as_json)


@sessions.command(epilog=example("deniable access sessions end 3f9a01c2b4de"))
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


access.add_command(audit)


def _is_valid(row: TokenDocument, now: float) -> bool:
    return row.revoked is None and (row.expires is None or row.expires > now)
