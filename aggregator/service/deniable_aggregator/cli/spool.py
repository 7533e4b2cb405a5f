"""`deniable spool`: count the reports that an ingest node without keys accepted."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    data_option,
    example,
    json_option,
    settings_for,
    spool_option,
)
from deniable_aggregator.cli.output import emit, say
from deniable_aggregator.cli.spool_tally import tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable_gateway.spool.protocol import Spool

TURN_SECONDS = 30.0

logger = logging.getLogger(__name__)


@click.group(cls=CommandGroup)
def spool() -> None:
    """Count the reports that ingest nodes without keys accepted.

    `deniable serve --spool` accepts them. `drain` and `tally` run where the keys are.
    """


@spool.command(
    epilog=example(
        "deniable spool drain --spool /srv/spool --once",
        "deniable spool drain --spool s3://bucket/spool --least 10000 --seconds 3600",
    )
)
@data_option
@spool_option(help_text="Where `deniable serve --spool` puts reports: a directory or an address.")
@click.option(
    "--least",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Count when this many reports wait, in random order …",
)
@click.option(
    "--seconds",
    type=click.IntRange(1, 86_400),
    default=3_600,
    show_default=True,
    help="… or after this many seconds.",
)
@click.option("--once", is_flag=True, help="Count all waiting reports, and exit.")
@click.option(
    "--last",
    is_flag=True,
    help="Count for the last time: afterwards epochs close without waiting for this spool.",
)
def drain(data: Path | None, place: str, least: int, seconds: int, once: bool, last: bool) -> None:
    """Count the reports that `deniable serve --spool` accepted.

    Run it on the machine with the keys, which accepts no connections. It also writes the public
    notices that an ingest node needs into the spool. Epochs close when all reports that came in
    time are counted. If you give up a spool, drain it with --last. With SQLite only one process
    may use the data directory: run this with --once from a timer, and other commands in between.
    """
    from deniable_aggregator.operations.process.serving import signals_as_interrupt
    from deniable_aggregator.operations.service import Service
    from deniable_aggregator.spool.consumer import SpoolConsumer

    service = Service.open(settings_for(data), actor="deniable spool drain")
    try:
        opening = SpoolConsumer(service, place, min_reports=least, interval_seconds=seconds)
        if once or last:
            drained = opening.finish() if last else opening.run_once(at_once=True)
            click.echo(f"Drained {drained:,} reports")
            return
        say(f"Draining {opening.where} (Ctrl-C stops)")
        with signals_as_interrupt():
            _for_ever(opening.run_once)
    except KeyboardInterrupt:
        say("Stopping")
    finally:
        service.close()


spool.add_command(tally)


@spool.command(
    epilog=example(
        "deniable spool status --spool /srv/spool",
        "deniable spool status --spool s3://bucket/spool --json",
    )
)
@spool_option(help_text="Where `deniable serve --spool` puts reports: a directory or an address.")
@json_option
def status(place: str, as_json: bool) -> None:
    """Show how many reports wait in a spool. It needs no key and changes nothing.

    An ingest node cannot start without notices: `drain` writes them.
    """
    from deniable_gateway.spool.address import open_spool
    from deniable_gateway.spool.block_files import blocks, record_count

    opened = open_spool(place)
    waiting = blocks(opened)
    document = {
        "spool": opened.where,
        "blocks": len(waiting),
        "bytes": sum(block.size for block in waiting),
        "reports": sum(record_count(opened, block.name) for block in waiting),
        "notices": _has_notices(opened),
    }
    if as_json:
        emit(document)
        return
    click.echo(
        f"{document['reports']:,} reports wait in {document['blocks']:,} blocks, "
        f"{document['bytes']:,} bytes"
    )
    click.echo("Ingest nodes can start" if document["notices"] else "There are no notices yet")


def _has_notices(opened: Spool) -> bool:
    try:
        opened.read_notices()
    except FileNotFoundError:
        return False
    return True


def _for_ever(turn: Callable[[], int]) -> None:
    while True:
        try:
            turn()
        except Exception:  # uncounted reports stay in the spool for the next turn
            logger.exception("draining the spool failed; retrying in %.0f s", TURN_SECONDS)
        time.sleep(TURN_SECONDS)
