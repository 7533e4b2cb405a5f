"""`deniable backup` and `deniable restore`: the whole installation as one file, and back."""

from __future__ import annotations

import time
from pathlib import Path

import click

from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit

_PASSPHRASE_FILE = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Read the passphrase from its first line instead of asking.",
)


@click.command(
    epilog=example("deniable backup /mnt/backups", "deniable backup deniable.zip --keys")
)
@click.argument("place", type=click.Path(path_type=Path), metavar="FILE|DIRECTORY")
@click.option("--keys", is_flag=True, help="With the private keys, under a passphrase.")
@_PASSPHRASE_FILE
@data_option
@json_option
def backup(
    place: Path, keys: bool, passphrase_file: Path | None, data: Path | None, as_json: bool
) -> None:
    """Write everything into one file while the service runs.

    One snapshot of the database, SQLite or PostgreSQL, in one format. It holds tallies and hashes
    of tokens: only you can read the file. Private keys are left out unless you ask for them.
    """
    from deniable_aggregator.operations.backup import copying

    if passphrase_file is not None and not keys:
        raise click.UsageError("--passphrase-file goes with --keys")
    passphrase = _passphrase(passphrase_file, new=True) if keys else None
    path = copying.back_up(settings_for(data), place, passphrase, time.time())
    size = path.stat().st_size
    if as_json:
        emit({"file": str(path), "bytes": size, "keys": keys})
    else:
        click.echo(f"Wrote {path}, {size:,} bytes, {'with' if keys else 'without'} keys")


@click.command(
    epilog=example("deniable restore deniable.zip", "deniable restore deniable.zip --data new")
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--nothing-released-since",
    is_flag=True,
    help="Say that no release was made after the backup: releases go on at once.",
)
@_PASSPHRASE_FILE
@data_option
@json_option
def restore(
    file: Path,
    nothing_released_since: bool,
    passphrase_file: Path | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Fill an empty data directory and store from a backup.

    The store may be of the other kind. Put `keys/`, `deniable.toml` and `heads.json` of the lost
    directory in place first, if you have them: heads.json says what was released since.
    """
    from deniable_aggregator.operations.backup import copying

    settings = settings_for(data)
    done = copying.restore(
        settings,
        file,
        passphrase=lambda: _passphrase(passphrase_file, new=False),
        nothing_released_since=nothing_released_since,
    )
    if as_json:
        emit({"data": str(settings.data), "keys": done.has_keys, "behind": done.behind})
        return
    rows = sum(table.rows for table in done.manifest.tables.values())
    click.echo(f"Restored {rows:,} rows into {settings.data}, and read every one back")
    if not done.has_keys:
        click.echo(f"Put the keys into {settings.data / 'keys'} before `deniable serve`")
    if done.behind:
        click.echo(
            "Releases wait for `deniable ledger reconcile`, which charges what may have been "
            "released since the backup"
        )


def _passphrase(file: Path | None, *, new: bool) -> str:
    if file is not None:
        return file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    passphrase: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True)
    return passphrase
