"""Options that several commands share, and the service or settings that they select."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient

EXAMPLE_WIDTH = 74
"""Width of an example line in characters, without indentation and backslash."""

COMPLETION_SECONDS = 2.0
"""Seconds that a shell waits for the names of collections."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Target:
    """The service a command speaks to."""

    url: str | None
    data: Path | None

    def settings(self) -> Settings:
        """The settings of the data directory."""
        return settings_for(self.data)

    def origin(self) -> str:
        """Where devices send reports if a collection names no address."""
        return self.url.rstrip("/") if self.url else self.settings().public_url

    def origin_of(self, address: str) -> str:
        """Where devices send reports, for a service that answers at `address`."""
        from deniable_aggregator.collections.authoring.registration import device_origin

        return self.origin() if self.url else device_origin(self.settings(), address)

    def connect(self, *, migrate: bool = False) -> ServiceClient:
        """A client of the service. Without a running service, only `migrate` changes a schema."""
        from deniable_aggregator.cli.command_client import connect

        return connect(self.settings(), self.url, migrate=migrate)


def collection_argument(command: Callable[P, R]) -> Callable[P, R]:
    """COLLECTION, by id or name; a shell completes it from a running service."""
    return click.argument("collection", shell_complete=_collection_names)(command)


def collections_argument(command: Callable[P, R]) -> Callable[P, R]:
    """COLLECTION, any number of times."""
    return click.argument(
        "names", metavar="[COLLECTION]...", nargs=-1, shell_complete=_collection_names
    )(command)


def _collection_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Collections that begin with `incomplete`; none if no service runs."""
    from deniable_aggregator.base.errors import AggregatorError
    from deniable_aggregator.cli.command_client import running
    from deniable_shared.errors import DeniableError

    target = Target(ctx.params.get("url"), ctx.params.get("data"))
    try:
        client = running(target.settings(), target.url, timeout_seconds=COMPLETION_SECONDS)
        if client is None:
            return []
        with client:
            rows = client.collections().document.collections
    except (AggregatorError, DeniableError, OSError):
        return []  # a shell has no place for an error
    return [row.collection for row in rows if row.collection.startswith(incomplete)]


def settings_for(data: Path | None) -> Settings:
    """Settings of the environment and the directory's file; `data` wins over DENIABLE_DATA."""
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.opening import require_known_kind

    chosen = {} if data is None else {"DENIABLE_DATA": str(data)}
    settings = Settings.load({**os.environ, **chosen})
    require_known_kind(settings)
    return settings


def operator_seed(key: Path | None, settings: Settings) -> bytes:
    """The operator's signing key, from `key` or from its default place."""
    from deniable_aggregator.cli.command_groups import CommandFailed
    from deniable_aggregator.keys import read_seed

    path = key or settings.operator_key
    if not path.exists():
        raise CommandFailed(f"the operator's key is not at {path}: give it with --key FILE")
    return read_seed(path)


def data_option(command: Callable[P, R]) -> Callable[P, R]:
    """--data DIRECTORY."""
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIRECTORY",
        help="The data directory. [DENIABLE_DATA; default: data]",
    )(command)


def service_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --url and --data; the command receives `target`."""

    @wraps(command)
    def with_target(*, url: str | None, data: Path | None, **given: object) -> R:
        return command(target=Target(url, data), **given)

    with_url = click.option(
        "--url",
        envvar="DENIABLE_URL",
        metavar="URL",
        help="A running service; its token is read from DENIABLE_TOKEN. [DENIABLE_URL]",
    )(with_target)
    return data_option(with_url)


class _Spool(click.ParamType[str]):
    """An address unchanged, or an absolute path."""

    name = "spool"

    def convert(
        self, value: object, _param: click.Parameter | None, _ctx: click.Context | None
    ) -> str:
        text = str(value)
        return text if "://" in text else str(Path(text).absolute())


def spool_option(
    *, help_text: str, required: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--spool PLACE."""
    return click.option(
        "--spool", "place", required=required, type=_Spool(), metavar="PLACE", help=help_text
    )


def json_option(command: Callable[P, R]) -> Callable[P, R]:
    """--json."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
    )(command)


def csv_option(command: Callable[P, R]) -> Callable[P, R]:
    """--csv."""
    return click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one row a line.")(command)


def media_type(*, as_csv: bool) -> str:
    """The media type that a command requests from the service."""
    return "text/csv" if as_csv else "application/json"


def one_form(**given: object) -> None:
    """Raises UsageError if more than one of these options is given."""
    named = [f"--{name}" for name, value in given.items() if value]
    if len(named) > 1:
        raise click.UsageError(f"{' and '.join(named)} cannot be combined: give only one")


def example(*lines: str) -> str:
    """The examples at the end of a command's help; long lines break before an option."""
    return "\b\nExample:\n" + "\n".join(f"  {_broken(line)}" for line in lines)


def _broken(line: str) -> str:
    """The line, broken with a backslash before the option that would make it too long."""
    first, *parts = re.split(r" (?=--|> )", line)
    broken, width = first, len(first)
    for part in parts:
        if width + len(part) > EXAMPLE_WIDTH:
            broken, width = f"{broken} \\\n     ", len("     ")
        broken, width = f"{broken} {part}", width + 1 + len(part)
    return broken


def checked_epsilon(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> str | None:
    """The text itself. An ε that a manifest may not have is wrong usage."""
    from deniable_shared.errors import ParameterError
    from deniable_shared.randomness.dyadic import parse_epsilon

    try:
        if value is not None:
            parse_epsilon(value)
    except ParameterError as error:
        raise click.BadParameter(str(error)) from error
    return value


def collection_option(command: Callable[P, R]) -> Callable[P, R]:
    """--collection ID, repeatable."""
    return click.option(
        "--collection",
        "collections",
        multiple=True,
        metavar="ID",
        help="Only this collection, by id or name; may be given again. [default: all]",
    )(command)
