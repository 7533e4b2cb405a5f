"""`deniable open`: count what an ingest node without keys has spooled."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import click

from deniable_aggregator.cli.options import data_option, example, settings_for, spool_option
from deniable_aggregator.cli.output import say

TURN_SECONDS = 30.0

logger = logging.getLogger(__name__)


@click.command(
    "open",
    epilog=example(
        "deniable open --spool /srv/spool --once",
        "deniable open --spool s3://bucket/spool --least 10000 --seconds 3600",
    ),
)
@data_option
@spool_option(help_text="Where `deniable serve --spool` puts reports: a directory or an address.")
@click.option(
    "--least",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Count once so many reports wait, in random order …",
)
@click.option(
    "--seconds",
    type=click.IntRange(1, 86_400),
    default=3_600,
    show_default=True,
    help="… or once so long has passed.",
)
@click.option("--once", is_flag=True, help="Count all there is, and end.")
@click.option(
    "--last",
    is_flag=True,
    help="The same for the last time: from then on epochs close without this spool.",
)
def open_spool(
    data: Path | None, spool: str, least: int, seconds: int, once: bool, last: bool
) -> None:
    """Count what `deniable serve --spool` has taken.

    It runs on the machine with the keys, which accepts no connections. It also writes what the
    ingest node needs into the spool. Epochs close once all that was taken in time is counted, with
    any command that closes them; a spool that is given up must be opened with --last. With SQLite
    it has the data directory to itself: run it with --once from a timer, and other commands in
    between.
    """
    from deniable_aggregator.operations.process.serving import signals_as_interrupt
    from deniable_aggregator.operations.service import Service
    from deniable_aggregator.spool.consumer import SpoolConsumer

    service = Service.open(settings_for(data), actor="deniable open")
    try:
        opening = SpoolConsumer(service, spool, min_reports=least, interval_seconds=seconds)
        if once or last:
            drained = opening.finish() if last else opening.run_once(at_once=True)
            click.echo(f"Drained {drained:,} reports")
            return
        say(f"Opening {opening.where} (Ctrl-C stops)")
        with signals_as_interrupt():
            _for_ever(opening.run_once)
    except KeyboardInterrupt:
        say("Stopping")
    finally:
        service.close()


def _for_ever(turn: Callable[[], int]) -> None:
    while True:
        try:
            turn()
        except Exception:  # what was not counted stays in the spool for the next turn
            logger.exception("opening failed; it tries again in %.0f s", TURN_SECONDS)
        time.sleep(TURN_SECONDS)
