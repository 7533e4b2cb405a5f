"""`deniable spool tally`: counts the reports of a spool on many processes or on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import (
    data_option,
    example,
    json_option,
    settings_for,
    spool_option,
)
from deniable_aggregator.cli.output import emit
from deniable_aggregator.cli.terminal import progress_bar

if TYPE_CHECKING:
    from deniable_aggregator.spool.job import Engine, TallySummary


@click.command(
    epilog=example(
        "deniable spool tally --spool /var/spool/deniable --processes 16",
        "deniable spool tally --engine spark --spool s3://bucket/spool",
    )
)
@spool_option(help_text="A directory of blocks, or an address, the same for all workers.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Processes of this machine, or Apache Spark (extra `spark`).",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    help="Processes of this machine. [default: one a core]",
)
@click.option("--master", metavar="URL", help="Spark's master. [default: as Spark is configured]")
@click.option(
    "--keys",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="PATH",
    help="Where workers find the keys. [default: keys in the data directory]",
)
@click.option(
    "--job",
    default="tally",
    metavar="NAME",
    show_default=True,
    help="A name for this job, which opens each block once. A new name opens all blocks again.",
)
@click.option("--remove", is_flag=True, help="Delete each block once it is counted.")
@data_option
@json_option
def tally(  # noqa: PLR0913  (click passes each option by name)
    place: str,
    engine: str,
    processes: int | None,
    master: str | None,
    keys: Path | None,
    job: str,
    remove: bool,
    data: Path | None,
    as_json: bool,
) -> None:
    """Count a spool's reports on many processes or on Spark.

    Reports are opened and checked like uploads. Each counts once, even if an upload or an earlier
    job counted it first. After a crash run the same command again. With SQLite stop the service
    first.
    """
    from deniable_aggregator.operations.service import Service
    from deniable_aggregator.spool.job import tally_spool

    chosen = _engine(engine, processes, master)
    service = Service.open(settings_for(data), actor="deniable spool tally")
    try:
        with progress_bar() as bar:
            if bar is not None:
                bar.stage("Counting blocks")
            summary = tally_spool(
                service,
                place,
                chosen,
                job=job,
                keys=keys,
                remove=remove,
                progress=bar.people if bar else _silent,
            )
    finally:
        service.close()
    _show(summary, as_json)


def _silent(done: int, total: int) -> None:
    """Show no progress."""


def _engine(name: str, processes: int | None, master: str | None) -> Engine:
    if name == "local":
        if master is not None:
            raise click.UsageError("--master needs --engine spark")
        from deniable_aggregator.spool.local import LocalEngine

        return LocalEngine(processes)
    if processes is not None:
        raise click.UsageError("--processes needs --engine local; for Spark, configure executors")
    from deniable_aggregator.spool.spark import SparkEngine

    return SparkEngine(master)


def _show(summary: TallySummary, as_json: bool) -> None:
    refused = {
        f"{collection} {reason}": n for (collection, reason), n in sorted(summary.refused.items())
    }
    if as_json:
        emit(
            {
                "job": summary.job,
                "blocks": summary.blocks,
                "blocks_before": summary.before,
                "reports": summary.records,
                "counted": summary.counted,
                "duplicates": summary.duplicates,
                "refused": refused,
                "processes": len(summary.processes),
                "processor_seconds": round(summary.seconds, 3),
                "damaged": summary.damaged,
            }
        )
    else:
        _print_summary(summary, refused)
    if summary.damaged:
        raise CommandFailed(
            f"{len(summary.damaged)} damaged blocks are not counted, first: {summary.damaged[0]}"
        )


def _print_summary(summary: TallySummary, refused: dict[str, int]) -> None:
    if summary.before:
        click.echo(f"{summary.before:,} blocks were counted before by job {summary.job}")
    click.echo(
        f"Counted {summary.counted:,} of {summary.records:,} reports in {summary.blocks:,} blocks, "
        f"opened by {len(summary.processes)} processes in {summary.seconds:.1f} s of their time"
    )
    if summary.duplicates:
        click.echo(f"  {summary.duplicates:,} came more than once")
    for what, n in refused.items():
        click.echo(f"  {n:,} refused: {what}")
