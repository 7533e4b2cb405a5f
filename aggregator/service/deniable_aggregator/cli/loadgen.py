"""`deniable loadgen`: what a running service can take, with real sealed reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import emit

if TYPE_CHECKING:
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.operations.loadgen.plan import LoadPlan
    from deniable_aggregator.operations.loadgen.result import LoadResult


@click.command(
    epilog=example(
        "deniable loadgen rehearsal --rate 500 --duration 20",
        "deniable loadgen rehearsal --rate 50 --reports-per-request 100 --connections 8",
    )
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
@click.option("--other-host", is_flag=True, help="Send to a host that is not this machine, too.")
@service_options
@json_option
def loadgen(
    collection: str,
    rate: int,
    connections: int,
    reports: int,
    duration: int,
    other_host: bool,
    target: Target,
    as_json: bool,
) -> None:
    """Send made-up reports and see what the service takes.

    The reports are randomized and sealed like real ones, and COUNTED like real ones: use a
    collection that was made for this. They are all sealed before the first is sent, at most a
    million. Latencies count from when a request was due. More than one report a request needs a
    relay token, which is made and revoked on the way with the right of an admin token.
    """
    from deniable_aggregator.operations.loadgen.plan import LoadPlan, require_this_machine

    plan = LoadPlan(rate, connections, reports, duration)
    with target.connect() as client:
        if not client.address.startswith(("http://", "https://")):
            raise CommandFailed(
                f"no service runs in {client.address}: start `deniable serve` first"
            )
        if not other_host:
            require_this_machine(client.address)
        outcome = _send_load(client, collection, plan)
    if as_json:
        emit(outcome.document())
    else:
        _show(outcome, plan)
    if outcome.failed:
        raise CommandFailed(f"{outcome.failed:,} requests got no answer")


def _send_load(client: ServiceClient, collection: str, plan: LoadPlan) -> LoadResult:
    from deniable_aggregator.cli.progress import progress_bar
    from deniable_aggregator.operations.loadgen.sealing import seal_bodies
    from deniable_aggregator.operations.loadgen.sending import UploadTarget, send
    from deniable_aggregator.operations.loadgen.target import fetch_target

    target = fetch_target(client, collection)
    with _relay(client, needed=plan.reports > 1) as token, progress_bar() as bar:

        def report_progress(stage: str, total: int, done: int) -> None:
            if bar is not None:
                bar.stage(stage) if done == 0 else bar.people(done, total)

        reports = plan.requests * plan.reports
        report_progress("sealing", reports, 0)
        made = seal_bodies(
            target,
            plan.requests,
            plan.reports,
            lambda done: report_progress("sealing", reports, done),
        )
        report_progress("sending", plan.requests, 0)
        address = UploadTarget(client.address, target.path, token)
        return send(
            address, made, plan, lambda done: report_progress("sending", plan.requests, done)
        )


@contextmanager
def _relay(client: ServiceClient, *, needed: bool) -> Iterator[str | None]:
    """A relay token for as long as the block takes."""
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
        f"{sums['requests_per_second']} requests/s, {sums['reports_per_second']} reports/s kept"
    )
    if outcome.latencies:
        click.echo(f"p50 {sums['p50_ms']} ms, p99 {sums['p99_ms']} ms")
    for status, count in sorted(outcome.statuses.items()):
        click.echo(f"HTTP {status}: {count:,}")
    if outcome.refused:
        click.echo(f"{outcome.refused:,} reports were refused")
