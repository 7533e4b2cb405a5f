"""`deniable serve`: runs the service until Ctrl-C or SIGTERM."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import data_option, example, settings_for, spool_option
from deniable_aggregator.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings


@click.command(
    epilog=example(
        "deniable serve",
        "deniable serve --data /var/lib/deniable --port 9000",
        "deniable serve --spool /srv/spool",
    )
)
@data_option
@click.option("--host", metavar="ADDRESS", help="Address to listen on. [default: 127.0.0.1]")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port; 0 picks a free one. [default: 8000]"
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes that serve; more than one needs PostgreSQL. [default: 1]",
)
@click.option("--access-log", is_flag=True, help="Log requests, without addresses.")
@spool_option(
    required=False,
    help_text="Accept reports without any key and write them there, for `deniable spool drain`: a "
    "directory, s3://…, gs://… or postgresql://….",
)
@click.option(
    "--spool-format",
    type=click.Choice(["block", "parquet"]),
    help="The files that --spool writes; parquet needs the extra arrow. [default: block]",
)
@click.option(
    "--spool-wait-ms",
    type=click.IntRange(0, 10_000),
    metavar="MS",
    help="Milliseconds for which --spool gathers reports of one object. [default: 1000]",
)
def serve(  # noqa: PLR0913  (click passes each option by name)
    data: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    access_log: bool,
    place: str | None,
    spool_format: str | None,
    spool_wait_ms: int | None,
) -> None:
    """Run the service.

    It listens on this machine only and speaks plain HTTP: put a proxy that ends TLS in front.
    After Ctrl-C or SIGTERM it finishes running requests. Commands find it by the data directory.

    With --spool it needs no data directory. It then only accepts uploads and publishes what
    `deniable spool drain` has written into the spool.
    """
    from deniable_aggregator.operations.process import serving, sign_in_link

    given = {"block_format": spool_format, "wait_ms": spool_wait_ms}
    options = {name: value for name, value in given.items() if value is not None}
    if options and place is None:
        raise click.UsageError("--spool-format and --spool-wait-ms need --spool")
    settings = settings_for(data)
    if workers is not None:
        settings = replace(settings, workers=workers)
    settings = _with_address(settings, host, port)
    if not _is_loopback(settings.host):
        say(
            f"Warning: anyone on the network can read plain HTTP on {settings.host}: "
            "let a proxy end TLS in front of it."
        )
    if place is not None:
        _serve_without_keys(settings, place, options, access_log=access_log)
    with serving.signals_as_interrupt(), serving.running(settings, access_log=access_log) as server:
        click.echo(f"Serving {settings.data} at {server.address} (Ctrl-C stops)")
        if server.suspended is not None:
            say(f"Warning: {server.suspended}. Uploads get 503 until then.")
        _warn_about_public_url(settings)
        with sign_in_link.publish_link(settings, server):
            try:
                code = server.wait()
            except KeyboardInterrupt:
                say("Stopping: running requests finish first.")
                return
    raise CommandFailed(f"the service stopped unexpectedly (exit code {code})")


def _warn_about_public_url(settings: Settings) -> None:
    """Warn if devices are sent to an address of this machine where this process does not listen."""
    if settings.public_url != settings.own_address and settings.public_url.startswith("http://"):
        say(
            f"Warning: devices send to {settings.public_url} (public_url), but this process "
            f"listens at {settings.own_address}: give --port, or let a proxy pass requests on."
        )


def _serve_without_keys(
    settings: Settings, spool: str, options: Mapping[str, Any], *, access_log: bool
) -> NoReturn:
    """Run granian in this process, with an application that has no key."""
    from deniable_aggregator.operations.process.serving import listening_of
    from deniable_gateway.cli import run_intake
    from deniable_gateway.spool.options import IntakeOptions

    intake = IntakeOptions(
        spool=spool,
        data=str(settings.data.absolute()),
        trusted_proxy=settings.trusted_proxy,
        reports_per_minute_per_prefix=settings.reports_per_minute_per_prefix,
        reports_per_minute_per_collection=settings.reports_per_minute_per_collection,
        **options,
    )
    run_intake(intake, listening_of(settings, access_log=access_log))


def _with_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    from deniable_aggregator.operations.process.serving import free_port

    chosen = settings.host if host is None else host
    number = settings.port if port is None else port
    return settings.listening(chosen, number or free_port(chosen))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
