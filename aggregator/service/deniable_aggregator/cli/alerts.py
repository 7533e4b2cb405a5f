"""`deniable collections alerts`: calls webhooks when answers change."""

from __future__ import annotations

import click

from deniable_aggregator.cli.command_groups import CommandGroup
from deniable_aggregator.cli.options import (
    Target,
    collection_argument,
    example,
    json_option,
    service_options,
)
from deniable_aggregator.cli.output import access_table, emit, show

COLUMNS = ("id", "url", "risk", "author", "created", "ended")


@click.group(cls=CommandGroup)
def alerts() -> None:
    """Call a webhook when answers change from one finished period to the next.

    These checks spend no privacy budget.
    """


@alerts.command(epilog=example("deniable collections alerts new settings https://example.org/hook"))
@collection_argument
@click.argument("webhook", metavar="WEBHOOK")
@click.option(
    "--periods",
    type=click.IntRange(1, 31),
    default=1,
    show_default=True,
    help="Compare this many periods with as many before them.",
)
@click.option(
    "--risk",
    type=click.FloatRange(0.001, 0.2),
    default=0.05,
    show_default=True,
    help="Probability of any false alert, over all checks together.",
)
@service_options
@json_option
def new(
    collection: str, webhook: str, periods: int, risk: float, target: Target, as_json: bool
) -> None:
    """Call WEBHOOK when answers change. The key of its signatures is printed only once."""
    with target.connect() as client:
        made = client.make_alert(collection, webhook, periods=periods, risk=risk)
    if as_json:
        emit(made.json())
        return
    click.echo(made.document.secret)
    click.echo(f"Alert {made.document.id}. The key of its signatures:", err=True)


@alerts.command("list", epilog=example("deniable collections alerts list settings"))
@collection_argument
@service_options
@json_option
def list_alerts(collection: str, target: Target, as_json: bool) -> None:
    """List the alerts of a collection."""
    with target.connect() as client:
        answer = client.alerts(collection)
    show(answer, lambda document: access_table(COLUMNS, document.alerts), as_json=as_json)


@alerts.command(epilog=example("deniable collections alerts end settings 3f9a01c2b4de"))
@collection_argument
@click.argument("alert_id", metavar="ID")
@service_options
@json_option
def end(collection: str, alert_id: str, target: Target, as_json: bool) -> None:
    """End an alert at once. Waiting calls are dropped."""
    with target.connect() as client:
        client.end_alert(collection, alert_id)
    if as_json:
        emit({"id": alert_id, "ended": True})
    else:
        click.echo(f"Ended {alert_id}")
