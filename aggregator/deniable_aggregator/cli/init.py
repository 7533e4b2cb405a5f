"""`deniable init`: a data directory with database and keys, the operator's key, the first token."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import click

from deniable_aggregator.cli.options import data_option, example, json_option, settings_for
from deniable_aggregator.cli.output import emit


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
    help="The key that signs manifests; made unless it is there. [default: beside the directory]",
)
@click.option(
    "--public-url",
    metavar="URL",
    help="Where devices will send reports; written to deniable.toml.",
)
@json_option
def init(
    data: Path | None, operator_key: Path | None, public_url: str | None, as_json: bool
) -> None:
    """Prepare a data directory: database, keys, token.

    The operator's key lies beside the directory, not in it: it signs collections and is better kept
    on another machine. The admin token is shown this once. With PostgreSQL its address is kept in
    deniable.toml, which only you can read.
    """
    from deniable_aggregator import keys
    from deniable_aggregator.settings import keep

    settings = settings_for(data)
    if public_url is not None:
        settings = replace(settings, public_url=public_url.rstrip("/"))
    key = operator_key or settings.operator_key
    made = keys.initialise(settings, operator_key=key, now=time.time())
    kept = {"public_url": settings.public_url} if public_url is not None else {}
    if settings.shared:
        kept["store"] = settings.store
    keep(settings.data, kept)
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
    for line in _told(settings.data, key, trust=made.trust, token=made.admin_token):
        click.echo(line)


def _told(data: Path, key: Path, *, trust: str, token: str) -> list[str]:
    given = "" if data == Path("data") else f" --data {data}"
    shown_key = key.name if key.parent == Path.cwd() else str(key)
    return [
        f"Prepared {data}. {shown_key} signs your collections: keep it safe, and a copy of it.",
        "",
        "Compile this into your apps:",
        f'  trust="{trust}"',
        "The first admin token, shown this once (DENIABLE_TOKEN):",
        f"  {token}",
        "",
        "Next:",
        "  deniable collections new settings --type bits --label dark_mode > settings.toml",
        f"  deniable collections apply settings.toml --key {shown_key}{given}",
        f"  deniable serve{given}",
    ]
