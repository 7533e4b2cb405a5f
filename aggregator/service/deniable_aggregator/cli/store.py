"""`deniable store`: backs up, restores, copies and migrates the database."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit, say
from deniable_aggregator.cli.terminal import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.backup.copying import RestoreResult

_PIPE = Path("-")
_PASSPHRASE_FILE = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Read the passphrase from the first line of this file instead of asking.",
)


@click.group(cls=CommandGroup)
def store() -> None:
    """Back up, restore, copy and migrate the database.

    To copy into another database, stop the service and pipe a backup into `restore --database`.
    """


@store.command(
    epilog=example(
        "deniable store backup /mnt/backups",
        "deniable store backup deniable.zip --keys",
        "deniable store backup - | deniable store restore --database URL",
    )
)
@click.argument("place", type=click.Path(path_type=Path), metavar="FILE|DIRECTORY|-")
@click.option("--keys", is_flag=True, help="Include the private keys, encrypted with a passphrase.")
@_PASSPHRASE_FILE
@data_option
@json_option
def backup(
    place: Path, keys: bool, passphrase_file: Path | None, data: Path | None, as_json: bool
) -> None:
    """Back up everything into one new file. The service may keep running.

    Name a FILE that ends in .zip, or a DIRECTORY that is there: it gets a file with date and time.
    The file is one snapshot of the database, in the same format for SQLite and PostgreSQL. It
    contains tallies and hashes of tokens, so only you can read it. It contains private keys only
    with --keys. Give - to write to standard output.
    """
    from deniable_aggregator.operations.backup import copying

    if passphrase_file is not None and not keys:
        raise click.UsageError("--passphrase-file needs --keys")
    if as_json and place == _PIPE:
        raise click.UsageError("--json needs a file: the backup goes to standard output")
    pipe = _pipe("stdout") if place == _PIPE else None
    settings = settings_for(data)
    passphrase = _passphrase(passphrase_file, new=True) if keys else None
    holds = "with keys" if keys else "without keys"
    with _steps() as watch:
        if pipe is not None:
            made = copying.write_backup(settings, pipe, passphrase, time.time(), watch=watch)
            pipe.flush()
            say(f"Wrote {made.rows:,} rows to standard output, {holds}")
            return
        path = copying.back_up(settings, place, passphrase, time.time(), watch=watch)
    size = path.stat().st_size
    if as_json:
        emit({"file": str(path), "bytes": size, "keys": keys})
    else:
        click.echo(f"Wrote {path}, {size:,} bytes, {holds}")


@store.command(
    epilog=example(
        "deniable store restore deniable.zip --data new",
        "deniable store backup - | deniable store restore --database URL",
    )
)
@click.argument(
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    default="-",
)
@click.option(
    "--database",
    metavar="URL",
    help="The empty sqlite:/// or postgresql:// store to fill. [default: the settings' store]",
)
@click.option(
    "--nothing-released-since",
    is_flag=True,
    help="Confirm that no release was made after the backup: releases continue at once.",
)
@_PASSPHRASE_FILE
@data_option
@json_option
def restore(
    file: Path,
    database: str | None,
    nothing_released_since: bool,
    passphrase_file: Path | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Fill an empty data directory and store from a backup.

    Without FILE it reads the backup from standard input. A backup of SQLite can fill PostgreSQL
    and the reverse. If you still have `keys/`, `deniable.toml` and `heads.json` of the lost
    directory, put them in place first: heads.json lists the releases since the backup.

    With --database, in the directory of a stopped service, it copies the store: the backup must
    equal the present store. The address is saved in deniable.toml, which only you can read: the
    directory uses the new store. DENIABLE_STORE wins over that file, so change it where it is set.
    """
    from deniable_aggregator.operations.backup import copying

    settings = settings_for(data)
    with _steps() as watch:
        done = copying.restore(
            settings,
            _pipe("stdin") if file == _PIPE else file,
            database=database,
            passphrase=lambda: _passphrase(passphrase_file, new=False),
            nothing_released_since=nothing_released_since,
            watch=watch,
        )
    if as_json:
        emit(
            {
                "data": str(settings.data),
                "store": done.store,
                "keys": done.has_keys,
                "behind": done.behind,
            }
        )
    else:
        _show_restored(settings, done)
    if database is not None:
        _say_saved(settings.data / "deniable.toml", database)


@store.command(epilog=example("deniable store migrate"))
@data_option
@json_option
def migrate(data: Path | None, as_json: bool) -> None:
    """Update the database to this program's schema.

    `deniable serve` does the same when it starts. Older programs can then no longer open it.
    """
    from deniable_aggregator.store.schema_version import migrate

    before, after = migrate(settings_for(data))
    if as_json:
        emit({"before": before, "after": after})
    elif before == after:
        click.echo(f"The database has schema {after} already")
    else:
        click.echo(f"The database had {before or 'no schema'} and has schema {after} now")


def _show_restored(settings: Settings, done: RestoreResult) -> None:
    click.echo(f"Restored {done.manifest.rows:,} rows into {done.store}, and read every one back")
    if not done.has_keys:
        click.echo(f"Put the keys into {settings.data / 'keys'} before `deniable serve`")
    if done.behind:
        click.echo(
            "Uploads and releases wait for `deniable ledger reconcile`, which charges releases "
            "that may be newer than the backup"
        )


def _say_saved(file: Path, database: str) -> None:
    say(f"Saved the address in {file}: this directory uses the new store from now on")
    if os.environ.get("DENIABLE_STORE", database) != database:
        say(
            "DENIABLE_STORE names another store here and wins over that file: unset it before "
            "you start the service, or set it to the new address"
        )
    else:
        say("If an environment file sets DENIABLE_STORE, change it there: it wins over that file")


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows a step on standard error, if that is a terminal."""
    with progress_bar() as bar:
        yield bar.stage if bar is not None else lambda _step: None


def _pipe(name: Literal["stdin", "stdout"]) -> BinaryIO:
    """Standard input or output. A terminal is wrong usage."""
    stream = sys.stdin.buffer if name == "stdin" else sys.stdout.buffer
    if stream.isatty():
        what = "comes from" if name == "stdin" else "goes to"
        raise click.UsageError(f"a backup {what} a file or a pipe, not a terminal: name a FILE")
    return stream


def _passphrase(file: Path | None, *, new: bool) -> str:
    if file is not None:
        return file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    passphrase: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True)
    return passphrase
