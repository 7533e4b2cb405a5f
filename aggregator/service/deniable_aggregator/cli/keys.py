"""`deniable keys`: manages the keys that devices encrypt reports to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    data_option,
    example,
    json_option,
    operator_seed,
    service_options,
    settings_for,
)
from deniable_aggregator.cli.output import emit, moment, plain_table, show
from deniable_aggregator.cli.terminal import require_yes, yes_option
from deniable_aggregator.cli.vouchers import vouchers

if TYPE_CHECKING:
    from deniable_aggregator.documents.collections import RotatedDocument

SUITES = {1: "X25519", 2: "MLKEM768-X25519"}


@click.group(cls=CommandGroup)
def keys() -> None:
    """Manage the keys of reports and of vouchers.

    A new key is pending for a day, then active. The key that it replaces expires: it still opens
    reports on their way, and is destroyed when the epochs of that time are closed.
    """


@keys.command("list", epilog=example("deniable keys list"))
@service_options
@json_option
def list_keys(target: Target, as_json: bool) -> None:
    """Show the key list that devices get."""
    with target.connect() as client:
        listed = _read(client.keys())
    if as_json:
        emit(listed)
        return
    plain_table(
        ["id", "suite", "state"],
        [
            [
                str(key["id"]),
                f"{key['suite']} ({SUITES.get(key['suite'], 'unknown')})",
                key["state"],
            ]
            for key in listed["keys"]
        ],
    )
    log = listed["log"]
    click.echo(f"List {listed['version']}, valid until {moment(listed['expires'])}")
    click.echo(f"Signed when the log had {log['size']:,} entries, ending in {log['head']}")


@keys.command(epilog=example("deniable keys rotate", "deniable keys rotate --suite 2"))
@click.option(
    "--suite",
    type=click.Choice(["1", "2"]),
    default="1",
    show_default=True,
    help="1: X25519. 2: MLKEM768-X25519, which also resists quantum computers, for devices that "
    "support it; other devices continue with suite 1.",
)
@click.option(
    "--now", is_flag=True, help="Use the new key at once, for example if the present one leaked."
)
@yes_option
@service_options
@json_option
def rotate(suite: str, now: bool, yes: bool, target: Target, as_json: bool) -> None:
    """Make the next key. While it is pending, running this again changes nothing.

    Keys also rotate automatically after DENIABLE_ROTATE_KEYS_DAYS. With --now the command asks
    first.
    """
    if now:
        require_yes("This replaces the present key at once, without a day's notice", yes=yes)
    with target.connect() as client:
        answer = client.rotate_keys(int(suite), now=now)
    show(answer, _print_rotated, as_json=as_json)


def _print_rotated(made: RotatedDocument) -> None:
    when = "is active" if made.state == "active" else f"is used from {moment(made.active_from)}"
    click.echo(f"Key {made.id} of suite {made.suite} {when}")


@keys.command(
    epilog=example("deniable keys delegate", "deniable keys delegate --key /media/key/operator.key")
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The operator's key. [default: operator.key next to the data directory]",
)
@data_option
@json_option
def delegate(key: Path | None, data: Path | None, as_json: bool) -> None:
    """Let the service's online key sign key lists for another 800 days.

    A running service reads the delegation by itself. Without a valid one devices refuse new key
    lists, and send nothing after the last list expires.
    """
    from deniable_aggregator.keys import DELEGATION_SECONDS, renew_delegation
    from deniable_gateway.clock.watch import ClockWatch
    from deniable_gateway.suspension import Suspension

    settings = settings_for(data)
    now = ClockWatch(suspension=Suspension(), folder=settings.data).now()
    seed = operator_seed(key, settings)
    renew_delegation(settings.data, operator_seed=seed, now=now)
    expires = int(now) + DELEGATION_SECONDS
    if as_json:
        emit({"expires": expires})
    else:
        click.echo(f"The online key may sign key lists until {moment(expires)}")


keys.add_command(vouchers)


def _read(envelope: bytes) -> dict[str, Any]:
    """The document without a check: `doctor` and `doctor verify-log` check its signature."""
    from deniable_shared.wire import dsse
    from deniable_shared.wire.key_list import KEYS_TYPE

    signed = dsse.decode(envelope, payload_type=KEYS_TYPE, extra=frozenset({"delegation"}))
    document: dict[str, Any] = json.loads(signed.payload)
    return document
