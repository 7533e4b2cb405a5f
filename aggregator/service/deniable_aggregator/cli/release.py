"""`deniable release`: a central release, its price, or a question to one that is open."""

from __future__ import annotations

from collections.abc import Mapping

import click

from deniable_aggregator.cli.options import Target, example, json_option, service_options
from deniable_aggregator.cli.output import show
from deniable_aggregator.cli.release_options import argument_options, arguments_of, read_labels
from deniable_aggregator.cli.release_tables import answer_table, quote_table, release_table
from deniable_aggregator.releases.kinds import RELEASE_KINDS


@click.command(
    epilog=example(
        "deniable release theme --mechanism exponential --score mode --epsilon 0.5 --cost",
        "deniable release theme --mechanism exponential --score mode --epsilon 0.5",
        "deniable release theme --mechanism histogram --epsilon 0.25 --from 2026-12-01 --json",
        "deniable release theme --session 0123456789abcdef --labels dark,auto",
    )
)
@click.argument("collection")
@click.option("--mechanism", metavar="NAME", help=f"One of {', '.join(sorted(RELEASE_KINDS))}.")
@argument_options
@click.option("--from", "first", metavar="EPOCH|DATE", help="First epoch, or a date.")
@click.option("--to", "last", metavar="EPOCH|DATE", help="Last epoch, inclusive.")
@click.option("--cost", is_flag=True, help="Only the price: nothing is drawn or charged.")
@click.option("--session", metavar="RELEASE", help="Ask a release that takes questions.")
@click.option("--labels", metavar="A,B", help="With --session: the labels that are asked for.")
@service_options
@json_option
def release(
    collection: str,
    mechanism: str | None,
    first: str | None,
    last: str | None,
    cost: bool,
    session: str | None,
    labels: str | None,
    target: Target,
    as_json: bool,
    **given: str | None,
) -> None:
    """Draw from closed epochs, or see what that would cost.

    A release is charged to every epoch it reads, in the budget that the collection's manifest
    promises, before it is drawn. The same request again shows the same release and is free. Ask
    with --cost first. Questions to an open session are free.

    Exit code 75: an epoch is still open, or too few reports yet.
    """
    if session is not None:
        others = {"mechanism": mechanism, "from": first, "to": last, "cost": cost or None, **given}
        _only_a_question(labels, others)
        named = read_labels(labels or "")
        with target.connect() as client:
            answer = client.ask(collection, session, named)
        show(answer, answer_table, as_json=as_json)
        return
    if labels is not None:
        raise click.UsageError("--labels goes with --session RELEASE")
    if mechanism is None:
        raise click.UsageError(
            f"--mechanism is needed, one of {', '.join(sorted(RELEASE_KINDS))}; "
            "or --session RELEASE"
        )
    span = {"from": first, "to": last}
    wanted = {
        **arguments_of(mechanism, given),
        "mechanism": mechanism,
        **{name: value for name, value in span.items() if value is not None},
    }
    with target.connect() as client:
        if cost:
            show(client.quote(collection, wanted), quote_table, as_json=as_json)
        else:
            show(client.make_release(collection, wanted), release_table, as_json=as_json)


def _only_a_question(labels: str | None, others: Mapping[str, object]) -> None:
    if labels is None:
        raise click.UsageError("--session needs --labels A,B: what the question is about")
    for name, value in others.items():
        if value is not None:
            raise click.UsageError(f"--{name} does not go with --session: it was settled before")
