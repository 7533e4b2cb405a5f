"""`deniable init`: makes a data directory, the operator's key and the first token."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings


@click.command(
    epilog=example(
        "deniable init",
        "deniable init --data /var/lib/deniable --public-url https://telemetry.example.org",
    )
)
@data_option
@click.option(
    "--operator-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The key that signs manifests; made if missing. [default: next to the directory]",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="Where devices will reach the service; saved in deniable.toml. [default: the command "
    "asks at a terminal, else this machine's own address]",
)
@json_option
def init(
    data: Path | None, operator_key: Path | None, public_url: str | None, as_json: bool
) -> None:
    """Prepare a data directory: database, keys, token.

    The operator's key signs collections. It is next to the directory, not in it: keep it on
    another machine. The admin token is shown only once. Public URL, port and PostgreSQL settings
    of the environment are saved in deniable.toml, which only you can read.
    """
    from deniable_aggregator import keys
    from deniable_aggregator.base.settings_sources import keep

    settings = settings_for(data)
    given = public_url or _prompted_url(settings, ask=not as_json)
    if given is not None:
        settings = replace(settings, public_url=_origin(given))
    key = operator_key or settings.operator_key
    is_given = key.exists()
    made = keys.initialise(settings, operator_key=key, now=time.time())
    keep(settings.data, _settings_to_keep(settings))
    if as_json:
        emit(
            {
                "data": str(settings.data),
                "operator_key": str(key),
                "trust": made.trust,
                "admin_token": made.admin_token,
            }
        )
        return
    if is_given:
        click.echo(f"{key} was there already: this service has its trust string.")
    for line in _summary_lines(settings, key, trust=made.trust, token=made.admin_token):
        click.echo(line)


def _prompted_url(settings: Settings, *, ask: bool) -> str | None:
    """The public URL that a person types at the terminal; None if it is set or not `ask`."""
    is_configured = settings.public_url != settings.own_address
    if is_configured or not ask or not _is_terminal():
        return None
    question = "Where will devices reach this service (its public URL)?"
    return str(click.prompt(question, default=settings.own_address, err=True))


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _origin(url: str) -> str:
    """The origin of a URL. Raises SettingsError if no device would send reports there."""
    from deniable_gateway.errors import SettingsError
    from deniable_shared.errors import ManifestError
    from deniable_shared.manifest.ingest_origins import parse_origins

    try:
        (origin,) = parse_origins([url.rstrip("/")], "public_url")
    except ManifestError as error:
        raise SettingsError(str(error)) from error
    return origin


def _settings_to_keep(settings: Settings) -> dict[str, str | int]:
    """The settings that later commands need in any environment."""
    entries: dict[str, str | int] = {"public_url": settings.public_url}
    if settings.port != type(settings)().port:
        entries["port"] = settings.port
    if settings.shared:
        entries["store"] = settings.store
    return entries


def _summary_lines(settings: Settings, key: Path, *, trust: str, token: str) -> list[str]:
    data = settings.data
    given = "" if data == Path("data") else f" --data {data}"
    shown_key = key.name if key.parent == Path.cwd() else str(key)
    return [
        f"Prepared {data}. {shown_key} signs your collections: keep it and a copy safe.",
        "",
        "Compile this into your apps:",
        f'  "{settings.public_url}", trust="{trust}"',
        "The first admin token, shown only once (DENIABLE_TOKEN):",
        f"  {token}",
        "",
        "Next:",
        f"  deniable serve{given}    # in another terminal",
        "  deniable collections new settings --type bits --label dark_mode "
        '--purpose "Which settings do people turn on?" > settings.toml',
        f"  deniable collections apply settings.toml --key {shown_key}{given}",
        "  Open the sign-in link that `deniable serve` shows.",
    ]
