"""`deniable doctor verify-log`: checks the log of everything that the operator has signed."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli import output
from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import emit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.doctor import Check
    from deniable_aggregator.operations.doctor.log_audit import Chain


@click.command(
    "verify-log",
    epilog=example(
        "deniable doctor verify-log",
        "deniable doctor verify-log --url https://t.example.org --trust ed25519:…",
    ),
)
@click.option(
    "--trust", metavar="KEY", help="The operator's public key. [default: the directory's]"
)
@click.option(
    "--head", "heads", metavar="HEX", multiple=True, help="A log head from a device. Repeatable."
)
@service_options
@json_option
def verify_log(trust: str | None, heads: tuple[str, ...], target: Target, as_json: bool) -> None:
    """Verify the log of manifests, key lists and releases.

    Computes the log again and checks every signed document against it.

    Reads the database of the data directory. With --url it also reads the service, as any device
    can, and both logs must agree. Exit code 1 if a check fails.
    """
    settings = target.settings()
    database = settings if settings.shared or settings.database.is_file() else None
    if database is None and target.url is None:
        raise CommandFailed(
            f"{settings.data} has no database: name another directory with --data, or use --url"
        )
    chains: list[Chain] = []
    results = list(_checks(target, database, _trust(target, trust), heads, chains))
    if as_json:
        chain = chains[0] if chains else None
        emit(
            {
                "size": len(chain.entries) if chain else None,
                "head": chain.heads[-1].hex() if chain else None,
                "checks": output.as_documents(results),
            }
        )
    else:
        output.print_checks(results)
    if output.has_failure(results):
        sys.exit(1)


def _checks(
    target: Target,
    database: Settings | None,
    trust: str,
    heads: tuple[str, ...],
    chains: list[Chain],
) -> Iterator[Check]:
    """The result of each check; the database's log comes first."""
    from deniable_aggregator.operations.doctor import Check
    from deniable_shared.errors import DeniableError

    try:
        if database is not None:
            yield from _of_database(database, trust, chains)
        if target.url is not None:
            yield from _of_service(target, trust, chains)
    except DeniableError as error:
        yield Check("fail", "log", str(error))
    chain_heads = {head.hex() for chain in chains for head in chain.heads}
    for head in heads:
        there = head.lower() in chain_heads
        yield Check(
            "ok" if there else "fail", "head", f"{head} is {'' if there else 'not '}in this log"
        )


def _of_database(settings: Settings, trust: str, chains: list[Chain]) -> Iterator[Check]:
    from deniable_aggregator.operations.doctor import Check, audit_view, log_audit

    kept = log_audit.read_database(settings)
    chains.append(kept)
    yield Check("ok", "log", f"of the database: {kept.words}")
    yield from log_audit.of_database(settings, kept, trust)
    yield from audit_view.audit_check(settings)


def _of_service(target: Target, trust: str, chains: list[Chain]) -> Iterator[Check]:
    from deniable_aggregator.operations.doctor import Check, log_audit

    with target.connect() as client:
        served = log_audit.read_service(client)
        yield Check("ok", "log", f"of {client.address}: {served.words}")
        yield from log_audit.of_service(client, served, trust, time.time())
    yield from (log_audit.compare_chains(kept, served) for kept in chains)
    chains.append(served)


def _trust(target: Target, given: str | None) -> str:
    from deniable_aggregator.keys import read_trust
    from deniable_shared.wire import dsse

    if given is None:
        return read_trust(target.settings().data)
    try:
        dsse.key_bytes(given)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--trust") from error
    return given
