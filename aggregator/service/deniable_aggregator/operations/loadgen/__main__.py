"""`python -m deniable_aggregator.operations.loadgen`: measures how much load a service accepts.

It sends real sealed reports. It needs nothing but the service's own dependencies.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.base.errors import AggregatorError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.client.remote import remote
from deniable_aggregator.operations.loadgen.plan import LoadPlan, require_this_machine
from deniable_aggregator.operations.loadgen.sealing import fetch_target, seal_bodies
from deniable_aggregator.operations.loadgen.sending import LoadResult, UploadTarget, send
from deniable_aggregator.operations.process import running_server
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.client.service_client import ServiceClient

_PROGRAM = "python -m deniable_aggregator.operations.loadgen"


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n"
    f"  {_PROGRAM} rehearsal --rate 500 --duration 20\n"
    f"  {_PROGRAM} rehearsal --rate 50 --reports-per-request 100",
)
@click.argument("collection", metavar="COLLECTION")
@click.option("--rate", type=int, default=100, show_default=True, help="Requests a second.")
@click.option(
    "--connections", type=int, default=32, show_default=True, help="Connections kept open."
)
@click.option(
    "--reports-per-request", "reports", type=int, default=1, show_default=True, help="Up to 1,000."
)
@click.option("--duration", type=int, default=10, show_default=True, help="Seconds.")
@click.option("--other-host", is_flag=True, help="Allow a host that is not this machine.")
@click.option(
    "--url",
    envvar="DENIABLE_URL",
    metavar="URL",
    help="A running service; its token is read from DENIABLE_TOKEN. [DENIABLE_URL]",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="The data directory of a running service. [DENIABLE_DATA; default: data]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def loadgen(  # noqa: PLR0913  (click passes each option by name)
    collection: str,
    rate: int,
    connections: int,
    reports: int,
    duration: int,
    other_host: bool,
    url: str | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Send simulated reports and measure the service.

    The reports are randomized and sealed like real ones, and COUNTED like real ones: use a
    collection that was made for this. All of them, at most a million, are sealed before the first
    is sent. Latencies count from when a request was due. More than one report a request needs a
    relay token; this command makes and revokes one, so it needs an admin token.
    """
    try:
        plan = LoadPlan(rate, connections, reports, duration)
        with _connect(url, data) as client:
            if not other_host:
                require_this_machine(client.address)
            outcome = _send_load(client, collection, plan)
    except (AggregatorError, DeniableError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(outcome.document(), indent=2))
    else:
        _show(outcome, plan)
    if outcome.failed:
        raise click.ClickException(f"{outcome.failed:,} requests got no answer")


def _connect(url: str | None, data: Path | None) -> ServiceClient:
    """Connect to `url`, else to the service that runs in the data directory."""
    if url:
        return remote(url, os.environ.get("DENIABLE_TOKEN"))
    chosen = {} if data is None else {"DENIABLE_DATA": str(data)}
    settings = Settings.load({**os.environ, **chosen})
    live = running_server.find(settings.data)
    if live is None:
        raise AggregatorError(f"no service runs in {settings.data}: start `deniable serve` first")
    return remote(live.address, live.token, trust_env=False)


def _send_load(client: ServiceClient, collection: str, plan: LoadPlan) -> LoadResult:
    target = fetch_target(client, collection)
    with _relay(client, needed=plan.reports > 1) as token:
        with _progress("sealing", plan.requests * plan.reports) as sealed:
            bodies = seal_bodies(target, plan.requests, plan.reports, sealed)
        with _progress("sending", plan.requests) as sent:
            return send(UploadTarget(client.address, target.path, token), bodies, plan, sent)


@contextmanager
def _progress(stage: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error at a terminal; yields a function that takes the number done."""
    file = sys.stderr if sys.stderr.isatty() else io.StringIO()
    with click.progressbar(length=total, label=stage, file=file) as bar:
        yield lambda done: bar.update(done - bar.pos)


@contextmanager
def _relay(client: ServiceClient, *, needed: bool) -> Iterator[str | None]:
    """A relay token for the duration of the block; None if it is not needed."""
    if not needed:
        yield None
        return
    made = client.make_token("relay", "loadgen").document
    try:
        yield made.token
    finally:
        client.revoke_token(made.id)


def _show(outcome: LoadResult, plan: LoadPlan) -> None:
    sums = outcome.document()
    click.echo(
        f"{sums['requests']:,} of {plan.requests:,} requests answered in {sums['seconds']} s: "
        f"{sums['requests_per_second']} requests/s, {sums['reports_per_second']} reports/s accepted"
    )
    if outcome.latencies:
        click.echo(f"p50 {sums['p50_ms']} ms, p99 {sums['p99_ms']} ms")
    for status, count in sorted(outcome.statuses.items()):
        click.echo(f"HTTP {status}: {count:,}")
    if outcome.refused:
        click.echo(f"{outcome.refused:,} reports were refused")


if __name__ == "__main__":
    loadgen(prog_name=_PROGRAM)
