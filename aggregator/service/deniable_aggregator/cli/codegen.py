"""`deniable collections codegen`: typed bindings for the app that asks."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import example

FILES = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(
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
