"""`deniable collections`: write, check, sign, register, hand out and end collections."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.collection_files import FILES, apply, lint
from deniable_aggregator.cli.command_groups import CommandFailed, CommandGroup
from deniable_aggregator.cli.epochs import epochs
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import column_widths, plain_table, show, table_room
from deniable_aggregator.cli.terminal import require_yes, yes_option
from deniable_aggregator.collections.authoring.templates import PLACEHOLDER_PURPOSE

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.documents.collections import CollectionsDocument

REPEATS = ("once", "fresh", "memoized")


@click.group(cls=CommandGroup)
def collections() -> None:
    """Write, check, sign and register collections.

    A collection is one agreed question with its privacy parameters: written in TOML, signed with
    the operator's key, and fixed from then on.
    """


@collections.command(
    epilog=example(
        "deniable collections new settings --type bits --label dark_mode "
        '--purpose "Which settings do people turn on?" > settings.toml',
        "deniable collections new theme --type choice --label light --label dark > theme.toml",
        "deniable collections new theme --type choice --label a --label b --repeat memoized",
        "deniable collections new minutes --type number --low 0 --high 240 --step 5",
        "deniable collections new setup --type record --attribute os=mac,linux --attribute ui=a,b",
        "deniable collections new words --type text --max-bytes 16",
    )
)
@click.argument("name")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["bits", "choice", "number", "record", "text"]),
    required=True,
    help="bits: yes or no to every label; choice: one of the labels; number: a quantity, to the "
    "nearest step; record: a label for each attribute; text: any word or short phrase.",
)
@click.option("--label", "labels", multiple=True, help="Of bits and choice: once for each label.")
@click.option("--low", metavar="NUMBER", help="Of number: lower answers become this.")
@click.option("--high", metavar="NUMBER", help="Of number: higher answers become this.")
@click.option("--step", metavar="NUMBER", help="Of number: the distance of two answers.")
@click.option(
    "--attribute",
    "attributes",
    metavar="NAME=LABEL,LABEL…",
    multiple=True,
    help="Of record: once for each attribute.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1, 64),
    help="Of text: the longest answer, in bytes of UTF-8. The shorter, the more is found.",
)
@click.option(
    "--repeat",
    type=click.Choice(REPEATS),
    default="once",
    show_default=True,
    help="fresh: again each epoch; memoized: each epoch behind a permanent answer.",
)
@click.option(
    "--purpose",
    default=PLACEHOLDER_PURPOSE,
    metavar="SENTENCE",
    help="What is asked and what for: people read it. Without it the file has a placeholder, "
    "which `apply` refuses.",
)
def new(name: str, kind: str, repeat: str, purpose: str, **domain_options: object) -> None:
    """Print a new collection's TOML, every field with its default."""
    from deniable_aggregator.cli.domain_options import domain_of
    from deniable_aggregator.collections.authoring.templates import TemplateOptions, template

    domain = domain_of(kind, domain_options)
    text = template(name, domain=domain, repeat=repeat, options=TemplateOptions(purpose=purpose))
    click.echo(text, nl=False)


collections.add_command(lint)
collections.add_command(apply)


@collections.command("list", epilog=example("deniable collections list"))
@click.option("--archived", is_flag=True, help="Show archived collections, too.")
@service_options
@json_option
def list_collections(archived: bool, target: Target, as_json: bool) -> None:
    """Show the registered collections."""
    with target.connect() as client:
        answer = client.collections(archived=archived)
    show(answer, partial(_print_list, archived=archived), as_json=as_json)


def _print_list(document: CollectionsDocument, *, archived: bool) -> None:
    columns = ["collection", "version", "state", "mechanism", "epsilon", "expires", "purpose"]
    if archived:
        columns.insert(3, "archived")
    rows = document.collections
    cells = [[str(getattr(row, column)) for column in columns] for row in rows]
    if column_widths([columns, *cells], table_room(len(columns))) is not None:
        plain_table(columns, cells)
    else:
        plain_table(columns[:-1], [row[:-1] for row in cells])
        for name, *_, purpose in cells:
            click.echo(f"{name}: {purpose}")
    for row in rows:
        if row.identified:
            click.echo(f"{row.collection} is identified: whose report is whose can be told.")


@collections.command(epilog=example("deniable collections export settings > settings.manifest"))
@collection_argument
@click.option("--version", type=click.IntRange(1, 65535), help="Which; the newest by default.")
@service_options
def export(collection: str, version: int | None, target: Target) -> None:
    """Print a signed manifest, for apps to ship."""
    with target.connect() as client:
        envelope = client.manifest(collection, version=version)
    click.echo(envelope, nl=False)


@collections.command(
    epilog=example(
        "deniable collections export settings > settings.manifest",
        "deniable collections codegen settings.manifest > bindings.py",
    )
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option("--trust", metavar="KEY", help="Refuse what this operator's public key did not sign.")
def codegen(files: tuple[Path, ...], trust: str | None) -> None:
    """Print a typed Python module made from signed manifests.

    It holds the manifests, so that an app ships one file, a type for the answers of each, and a
    function that records them: a wrong answer is then an error of the app's type checker.
    """
    from deniable_aggregator.collections.authoring.bindings import read_signed, render
    from deniable_shared.errors import DeniableError

    signed = []
    for path in files:
        try:
            trusted = [trust] if trust else []
            signed.append(read_signed(path.read_bytes().strip(), trusted=trusted))
        except DeniableError as error:
            raise CommandFailed(f"{path.name}: {error}") from error
    click.echo(render(signed), nl=False)


collections.add_command(epochs)


@collections.command(epilog=example("deniable collections close settings-4kqz0m"))
@collection_argument
@yes_option
@service_options
@json_option
def close(collection: str, yes: bool, target: Target, as_json: bool) -> None:
    """End a collection permanently: devices drop its queue, estimates can still be read."""
    require_yes(f"This ends {collection}: it takes no more reports", yes=yes)
    with target.connect() as client:
        answer = client.close_collection(collection)
    show(answer, lambda document: click.echo(f"{document.collection} is closed"), as_json=as_json)


@collections.command(
    epilog=example(
        "deniable collections archive settings-4kqz0m",
        "deniable collections archive settings-4kqz0m --undo",
    )
)
@collection_argument
@click.option("--undo", is_flag=True, help="Put it on the lists again.")
@service_options
@json_option
def archive(collection: str, undo: bool, target: Target, as_json: bool) -> None:
    """Take a collection off every list; nothing else of it changes.

    Devices go on reporting, and estimates stay readable by its name or id.
    """
    with target.connect() as client:
        answer = client.archive(collection, undo=undo)
    where = "on the lists again" if undo else "archived: `collections list --archived` shows it"
    show(answer, lambda document: click.echo(f"{document.collection} is {where}"), as_json=as_json)


@collections.command(epilog=example("deniable collections delete settings-4kqz0m"))
@collection_argument
@yes_option
@service_options
def delete(collection: str, yes: bool, target: Target) -> None:
    """Delete a collection before its first epoch begins; its entry in the log stays.

    Later, end it with `collections close` and hide it with `collections archive`.
    """
    require_yes(f"This deletes {collection}: devices find no such collection", yes=yes)
    with target.connect() as client:
        client.delete_collection(collection)
    click.echo(f"{collection} is deleted")
