"""`deniable access users`: give people access to the pages."""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_option,
    example,
    json_option,
    one_form,
    service_options,
)
from deniable_aggregator.cli.output import (
    access_table,
    emit,
    escape_control_characters,
    moment,
    show,
)
from deniable_aggregator.cli.terminal import require_yes, yes_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

ROLES = ("viewer", "analyst", "admin")
COLUMNS = ("name", "role", "collections", "created")


@click.group(cls=CommandGroup)
def users() -> None:
    """Give people access to the pages, by password or one-time link.

    There is no default password. Until the first person has signed in, `deniable serve` shows a
    one-time link on a terminal, or writes it to the file `sign-in-link` in the data directory.
    `deniable access users link` makes another.
    """


def _password_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --password-file and --password-stdin; the command receives `password`."""

    @wraps(command)
    def with_password(
        *, password_stdin: bool, password_file: TextIO | None, **given: object
    ) -> None:
        one_form(**{"password-stdin": password_stdin, "password-file": password_file})
        source = sys.stdin if password_stdin else password_file
        password = source.readline().rstrip("\r\n") if source else _prompt_password()
        command(password=password, **given)

    by_file = click.option(
        "--password-file",
        type=click.File("r", encoding="utf-8"),
        metavar="FILE",
        help="Read the password from the first line of a file; - is standard input.",
    )(with_password)
    return click.option(
        "--password-stdin", is_flag=True, help="Read the password from standard input."
    )(by_file)


@users.command(epilog=example("deniable access users add ana --role analyst"))
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What they may do.")
@collection_option
@_password_options
@service_options
@json_option
def add(
    name: str,
    role: str,
    collections: tuple[str, ...],
    password: str,
    target: Target,
    as_json: bool,
) -> None:
    """Add a person. The command asks for a password of 12 to 256 characters."""
    with target.connect() as client:
        made = client.add_user(name, role, password=password, collections=collections)
    added = f"Added {name}, who may sign in at /sign-in as {role}"
    show(made, lambda _: click.echo(added), as_json=as_json)


@users.command("list", epilog=example("deniable access users list"))
@service_options
@json_option
def list_users(target: Target, as_json: bool) -> None:
    """Show who has a password."""
    with target.connect() as client:
        answer = client.users()
    show(answer, lambda document: access_table(COLUMNS, document.users), as_json=as_json)


@users.command(epilog=example("deniable access users remove ana"))
@click.argument("name")
@yes_option
@service_options
@json_option
def remove(name: str, yes: bool, target: Target, as_json: bool) -> None:
    """Remove a person: their password, sessions and unused links end at once.

    A person who signs in through a provider can sign in again: remove them there first.
    """
    require_yes(
        f"This ends the password, sessions and links of {escape_control_characters(name)}", yes=yes
    )
    with target.connect() as client:
        client.remove_user(name)
    if as_json:
        emit({"name": name, "removed": True})
    else:
        click.echo(f"Removed {name}")


@users.command(
    epilog=example("deniable access users link", "deniable access users link ana --role viewer")
)
@click.argument("name", default="one-time link")
@click.option("--role", type=click.Choice(ROLES), default="admin", show_default=True)
@collection_option
@service_options
@json_option
def link(name: str, role: str, collections: tuple[str, ...], target: Target, as_json: bool) -> None:
    """Print a one-time sign-in link that works for 15 minutes.

    NAME is who it is for; the audit log shows it.
    """
    with target.connect() as client:
        made = client.make_sign_in_link(name, role, collections=collections)
        address = reachable(target.origin(), client.address) + made.document.path
    if as_json:
        emit({**made.json(), "address": address})
        return
    click.echo(address)
    click.echo(f"Valid for one sign-in until {moment(made.document.expires)}", err=True)


def reachable(origin: str, address: str) -> str:
    """The public address; if that is this machine, the address that the server listens at."""
    from deniable_shared.manifest.ingest_origins import is_loopback

    public = origin.rstrip("/")
    serves = address.startswith(("http://", "https://"))
    return address if serves and is_loopback(public) else public


def _prompt_password() -> str:
    try:
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        raise click.UsageError(
            "there is no terminal to ask for the password: give --password-file or --password-stdin"
        ) from error
