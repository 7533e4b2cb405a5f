"""`deniable collections`: write, check, sign, register, export and end collections."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.alerts import alerts
from deniable_aggregator.cli.collection_files import FILES, apply, lint
from deniable_aggregator.cli.command_groups import CommandFailed, CommandGroup
from deniable_aggregator.cli.epochs import epochs
from deniable_aggregator.cli.notes import notes
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    collections_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import (
    NO_COLLECTION,
    column_widths,
    plain_table,
    show,
    table_room,
)
from deniable_aggregator.cli.terminal import require_yes, yes_option
from deniable_aggregator.collections.authoring.templates import PLACEHOLDER_PURPOSE

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.documents.collections import CollectionsDocument

REPEATS = ("once", "fresh", "memoized")


@click.group(cls=CommandGroup)
def collections() -> None:
    """Write, check, sign and register collections.

    A collection is one question with its privacy parameters. You write it in TOML and sign it with
    the operator's key; from then on it is fixed.
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
@click.option("--label", "labels", multiple=True, help="For bits and choice: a label. Repeatable.")
@click.option(
    "--low", metavar="NUMBER", help="For number: the lowest answer; lower ones become this."
)
@click.option(
    "--high", metavar="NUMBER", help="For number: the highest answer; higher ones become this."
)
@click.option("--step", metavar="NUMBER", help="For number: the distance between two answers.")
@click.option(
    "--attribute",
    "attributes",
    metavar="NAME=LABEL,LABEL…",
    multiple=True,
    help="For record: an attribute and its labels. Repeatable.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1, 64),
    help="For text: the longest answer, in bytes of UTF-8. A shorter limit finds more texts.",
)
@click.option(
    "--repeat",
    type=click.Choice(REPEATS),
    default="once",
    show_default=True,
    help="fresh: a new answer each epoch; memoized: each epoch from one permanent answer.",
)
@click.option(
    "--purpose",
    default=PLACEHOLDER_PURPOSE,
    metavar="SENTENCE",
    help="What you ask and why; people read it. Without it the file has a placeholder, which "
    "`apply` refuses.",
)
def new(name: str, kind: str, repeat: str, purpose: str, **domain_options: object) -> None:
    """Print the TOML file of a new collection, with every field and its default."""
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
    """List the registered collections."""
    with target.connect() as client:
        answer = client.collections(archived=archived)
    show(answer, partial(_print_list, archived=archived), as_json=as_json)


def _print_list(document: CollectionsDocument, *, archived: bool) -> None:
    if not document.collections:
        click.echo(NO_COLLECTION)
        return
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
            click.echo(f"{row.collection} is identified: every report shows whose it is.")


@collections.command(
    epilog=example(
        "deniable collections export settings > settings.manifest",
        "deniable collections export --app > app.deniable",
        "deniable collections export --app settings theme > app.deniable",
    )
)
@collections_argument
@click.option(
    "--version", type=click.IntRange(1, 65535), help="The version; by default the newest."
)
@click.option(
    "--app",
    "as_app",
    is_flag=True,
    help="Print one file for Client.from_file: the address, your public key and the signed "
    "manifests of these collections, or of all that take reports.",
)
@click.option(
    "--trust", metavar="KEY", help="Your public key, as `init` printed it. [default: data/trust]"
)
@service_options
def export(
    names: tuple[str, ...], version: int | None, as_app: bool, trust: str | None, target: Target
) -> None:
    """Print a signed manifest, or with --app the one file that an app ships."""
    if as_app:
        if version is not None:
            raise click.UsageError(
                "--app exports the newest version of each collection: leave out --version"
            )
        click.echo(_app_file(names, trust, target), nl=False)
        return
    if len(names) != 1 or trust:
        raise click.UsageError("give one COLLECTION, or use --app to export several into one file")
    with target.connect() as client:
        envelope = client.manifest(names[0], version=version)
    click.echo(envelope, nl=False)


def _app_file(names: tuple[str, ...], trust: str | None, target: Target) -> str:
    from deniable_aggregator.cli.app_file import app_file
    from deniable_aggregator.keys import read_trust

    if trust is None and target.url:
        raise CommandFailed("with --url, --app needs your public key: give --trust KEY")
    key = trust or read_trust(target.settings().data)
    with target.connect() as client:
        return app_file(client, names, key).encode().decode()


@collections.command(
    epilog=example(
        "deniable collections export settings > settings.manifest",
        "deniable collections codegen settings.manifest > bindings.py",
    )
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILES)
@click.option(
    "--trust", metavar="KEY", help="Refuse manifests that this operator's public key did not sign."
)
def codegen(files: tuple[Path, ...], trust: str | None) -> None:
    """Print a typed Python module made from signed manifests or from an app file.

    `python -m deniable_client.codegen` does the same where only the client is installed.

    The module contains the manifests, so that an app ships one file. For each collection it has a
    type for the answers and a function that records them: your type checker then finds wrong
    answers.
    """
    from deniable_shared.errors import DeniableError
    from deniable_shared.manifest.bindings import SignedManifest, read_file, render

    signed: list[SignedManifest] = []
    for path in files:
        try:
            signed += read_file(path.read_bytes(), trusted=[trust] if trust else [])
        except DeniableError as error:
            raise CommandFailed(f"{path.name}: {error}") from error
    click.echo(render(signed), nl=False)


collections.add_command(epochs)
collections.add_command(notes)
collections.add_command(alerts)


@collections.command(epilog=example("deniable collections close settings-4kqz0m"))
@collection_argument
@yes_option
@service_options
@json_option
def close(collection: str, yes: bool, target: Target, as_json: bool) -> None:
    """End a collection permanently. Devices drop its queue; estimates stay readable."""
    require_yes(f"This ends {collection}: it accepts no more reports", yes=yes)
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
    """Hide a collection from every list, without changing anything else.

    Devices keep reporting, and its estimates stay readable by name or id.
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
