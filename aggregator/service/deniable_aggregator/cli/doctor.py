"""`deniable doctor`: checks this installation."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli import output
from deniable_aggregator.cli.command_groups import DefaultGroup
from deniable_aggregator.cli.options import (
    Target,
    data_option,
    example,
    json_option,
    service_options,
    settings_for,
)
from deniable_aggregator.cli.output import emit
from deniable_aggregator.cli.verify_log import verify_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.operations.doctor import Check


class DoctorGroup(DefaultGroup):
    """`deniable doctor` runs `deniable doctor check`."""

    default = "check"


@click.group(cls=DoctorGroup)
def doctor() -> None:
    """Check this installation, its log and its clock.

    `deniable doctor` is short for `deniable doctor check`.
    """


@doctor.command(
    epilog=example("deniable doctor", "deniable doctor check --url https://t.example.org")
)
@service_options
@json_option
def check(target: Target, as_json: bool) -> None:
    """Check this installation without changing it.

    Prints one line for each check: ok, warn or fail. Exit code 1 if a check fails.
    """
    results = list(_checks(target))
    if as_json:
        emit({"checks": output.as_documents(results)})
    else:
        output.print_checks(results)
    if output.has_failure(results):
        sys.exit(1)


doctor.add_command(verify_log)


@doctor.command(
    epilog=example("deniable doctor confirm-clock", "deniable doctor confirm-clock --data relay")
)
@data_option
@json_option
def confirm_clock(data: Path | None, as_json: bool) -> None:
    """Confirm that this machine's clock is right.

    If the clock jumps by more than five minutes, a service or relay refuses uploads and does not
    close, delete or sign anything. Check the time that this command prints: epochs close and
    tallies are deleted by it. Every process of the data directory continues within half a minute.
    """
    from deniable_gateway.clock.reading import Reading, boot_id, boot_time
    from deniable_gateway.clock.record import write_confirmed
    from deniable_gateway.errors import DataDirectoryError

    folder = settings_for(data).data
    if not folder.is_dir():
        raise DataDirectoryError(
            f"there is no directory {folder}: name the service's directory with --data"
        )
    now = Reading(time.time(), boot_time(), boot_id())
    write_confirmed(folder, now)
    if as_json:
        emit({"now": int(now.wall)})
        return
    moment = datetime.fromtimestamp(now.wall, UTC)
    click.echo(f"Confirmed for {folder}: it is {moment:%Y-%m-%d %H:%M:%S} UTC")


def _checks(target: Target) -> Iterator[Check]:
    from deniable_aggregator.base.errors import AggregatorError
    from deniable_aggregator.keys import read_trust
    from deniable_aggregator.operations.doctor import Check, checkup
    from deniable_gateway.errors import SettingsError

    yield from checkup.of_machine()
    try:
        settings = target.settings()
    except SettingsError as error:
        yield Check("fail", "settings", str(error))
        return
    yield Check("ok", "settings", f"data in {settings.data}, {settings.public_url}")
    if target.url is None:
        results = list(checkup.of_directory(settings))
        yield from results
        stops = {check.what for check in results if check.level == "fail"} & {"data", "schema"}
        if stops or not checkup.can_open(settings):
            return
    try:
        trust = read_trust(settings.data) if target.url is None else None
        with target.connect() as client:
            results = list(checkup.of_service(client, trust))
            yield from results
            if not any(check.level == "fail" for check in results):
                yield from _addresses(target, settings, client)
    except AggregatorError as error:
        yield Check("fail", "service", str(error))


def _addresses(target: Target, settings: Settings, client: ServiceClient) -> Iterator[Check]:
    """Check the addresses in the settings of this machine's service and of open collections."""
    from deniable_aggregator.operations.doctor import addresses
    from deniable_aggregator.operations.process import running_server

    rows = client.collections(archived=True).document.collections
    origins = addresses.ingest_origins(
        client, [row.collection for row in rows if row.state == "open"]
    )
    if target.url is None:
        origins.add(target.origin_of(client.address))
    running = target.url is not None or running_server.find(settings.data) is not None
    yield from addresses.checks(origins, client, running=running)
