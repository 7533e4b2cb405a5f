"""`deniable clock`: say that a clock which was set on purpose is right."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit


@click.group()
def clock() -> None:
    """Confirm a clock that was set on purpose."""


@clock.command(epilog=example("deniable clock confirm", "deniable clock confirm --data relay"))
@data_option
@json_option
def confirm(data: Path | None, as_json: bool) -> None:
    """Say that this machine's clock is right.

    A service or relay whose clock jumped by more than five minutes refuses uploads, and closes,
    deletes and signs nothing. Check the time this command prints: it is what epochs close by and
    tallies are deleted by. Every process of the data directory goes on within half a minute.
    """
    from deniable_gateway.clock.reading import Reading, boot_id, boot_time
    from deniable_gateway.clock.record import write_confirmed
    from deniable_gateway.errors import DataDirectoryError

    folder = settings_for(data).data
    if not folder.is_dir():
        raise DataDirectoryError(f"there is no directory {folder}: name the service's by --data")
    now = Reading(time.time(), boot_time(), boot_id())
    write_confirmed(folder, now)
    if as_json:
        emit({"now": int(now.wall)})
        return
    moment = datetime.fromtimestamp(now.wall, UTC)
    click.echo(f"Confirmed for {folder}: it is {moment:%Y-%m-%d %H:%M:%S} UTC")
