"""`deniable relay`: accepts reports for an aggregator and passes them on in shuffled batches."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.command_groups import CommandFailed, DefaultGroup
from deniable_aggregator.cli.options import example, json_option
from deniable_aggregator.cli.output import emit

directory_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("relay"),
    show_default=True,
    metavar="DIRECTORY",
    help="The relay's own directory; made if missing.",
)


class RelayGroup(DefaultGroup):
    """`deniable relay --to …` serves."""

    default = "serve"


@click.group(cls=RelayGroup)
def relay() -> None:
    """Pass reports on to an aggregator, shuffled in batches.

    Another party runs the aggregator, so the aggregator does not see who sends which report.
    `deniable relay --to URL …` is short for `deniable relay serve --to URL …`.
    """


@relay.command(
    epilog=example(
        "deniable relay serve --to https://t.example.org --token-file relay.token --batch 1000"
    )
)
@click.option("--to", required=True, metavar="URL", help="The aggregator's address.")
@click.option(
    "--token-file",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A file with a token of the role relay, made by the aggregator's operator.",
)
@click.option(
    "--batch",
    required=True,
    type=click.IntRange(2, 1_000_000),
    metavar="B",
    help="Pass on at least this many reports together, or none.",
)
@directory_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS")
@click.option("--port", type=click.IntRange(1, 65535), default=8100, show_default=True)
@click.option(
    "--trusted-proxy", is_flag=True, help="A proxy in front limits by address; this does not."
)
@click.option(
    "--reports-per-minute",
    type=click.IntRange(1, 10**9),
    default=600,
    show_default=True,
    help="What one network (/24, /48) may send.",
)
@click.option("--access-log", is_flag=True, help="Log requests, without addresses.")
def serve(  # noqa: PLR0913  (click passes each option by name)
    to: str,
    token_file: Path,
    batch: int,
    data: Path,
    host: str,
    port: int,
    trusted_proxy: bool,
    reports_per_minute: int,
    access_log: bool,
) -> None:
    """Run the relay until Ctrl-C or SIGTERM.

    Apps contain the relay's address, which the manifests list in `ingest`. A report is on disk
    before its device gets the answer. Reports of one collection, epoch, manifest version and key
    are passed on together, shuffled, when there are B of them. If there are fewer than B when the
    epoch closes, they are deleted and counted. Put a proxy in front that ends TLS and logs no
    address.
    """
    from deniable_gateway.cli import run_relay
    from deniable_gateway.relay.options import RelayOptions
    from deniable_gateway.serving import Listening

    options = RelayOptions(
        to=to,
        token_file=str(token_file.absolute()),
        data=str(data.absolute()),
        batch=batch,
        trusted_proxy=trusted_proxy,
        reports_per_minute=reports_per_minute,
    )
    run_relay(options, Listening(host, port, access_log=access_log))


@relay.command(epilog=example("deniable relay status", "deniable relay status --json"))
@directory_option
@json_option
def status(data: Path, as_json: bool) -> None:
    """Show what happened to the reports so far. The relay may keep running.

    accepted: on disk, its device got the answer. forwarded: the aggregator has it. refused: the
    aggregator rejected it, with a reason. too-few: fewer than B when the epoch closed. too-late:
    the aggregator could not be reached before the epoch closed.
    """
    from deniable_gateway.relay.queue import NAME, read_counts

    path = data / NAME
    if not path.is_file():
        raise CommandFailed(f"no relay has run here, there is no {path}: give its --data")
    counts = read_counts(path)
    if as_json:
        emit(counts)
        return
    for what, n in counts.items():
        click.echo(f"{n:>12,}  {what}")
    if not counts:
        click.echo("No report has arrived yet")
