"""`deniable demo`: the whole way on one machine, with made-up people or your own table."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.estimate_tables import truth_table
from deniable_aggregator.cli.options import checked_epsilon, example, json_option
from deniable_aggregator.cli.output import emit, say

if TYPE_CHECKING:
    from deniable_aggregator.operations.demo.run import Simulation, SimulationResult
    from deniable_aggregator.operations.demo.study import Study

DEFAULT_PEOPLE = 5_000
ABOARD_EPSILON = "2"
BERTH_EPSILON = "1"
DEFAULT_EPSILON = "1"


@click.command(
    epilog=example(
        "deniable demo",
        "deniable demo --csv people.csv",
        "deniable demo --csv people.csv --column plan --epsilon 2 --no-serve --json",
    )
)
@click.option(
    "--csv",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Your own table instead: one row a person, with a header.",
)
@click.option(
    "--column", "columns", multiple=True, help="A column of it to ask about. [default: all]"
)
@click.option(
    "--epsilon",
    callback=checked_epsilon,
    metavar="E",
    help="ε of one whole answer of it. [default: 1]",
)
@click.option(
    "--people",
    type=click.IntRange(1, 10_000_000),
    help="How many people answer. [default: 5000; with --csv every row once]",
)
@click.option("--no-serve", is_flag=True, help="Print the estimates and stop.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the service. [default: a free one]"
)
@json_option
def demo(
    file: Path | None,
    columns: tuple[str, ...],
    epsilon: str | None,
    people: int | None,
    no_serve: bool,
    port: int | None,
    as_json: bool,
) -> None:
    """See the whole way on this machine.

    A real service, real clients, real HTTP: people aboard the Titanic answer two collections,
    "aboard" (survived? a woman? a child? at ε = 2) and "berth" (which class? at ε = 1). Every
    answer is randomized before it leaves its client. The estimates are printed next to the truth;
    then the service stays on until Ctrl-C, with a link that opens the first chart in a browser, and
    its temporary directory is deleted.

    With --csv the people are the rows of your own table. Columns of 0/1 (or true/false, yes/no)
    become the bits of one collection; every other column becomes a choice among the values it
    holds, in a collection of its own. Each collection costs a person ε.

    Data: British Board of Trade inquiry, 1912, as tabulated by R. Dawson, 1995; public domain.
    """
    from deniable_aggregator.cli.progress import progress_bar
    from deniable_aggregator.operations.demo.run import run_study
    from deniable_aggregator.operations.process import serving

    if file is None and (columns or epsilon):
        raise click.UsageError("--column and --epsilon are about a table: give it with --csv FILE")
    study = _titanic(people) if file is None else _own(file, columns, epsilon, people)
    with serving.signals_as_interrupt(), ExitStack() as stack:
        with progress_bar() as bar:
            simulation = stack.enter_context(run_study(study, port=port, watcher=bar))
        _show(simulation.outcome, as_json=as_json)
        if not no_serve:
            _stay(simulation, err=as_json)


def _titanic(people: int | None) -> Study:
    """People drawn from those aboard, and what they are asked."""
    from deniable_aggregator.operations.demo import demo_data
    from deniable_aggregator.operations.demo.study import Study, StudyCollection, draw_people

    questions = (
        StudyCollection("aboard", "bits", demo_data.TRAITS, ABOARD_EPSILON),
        StudyCollection("berth", "choice", demo_data.BERTHS, BERTH_EPSILON),
    )
    aboard = [person.answers() for person in demo_data.people()]
    return Study(questions, draw_people(aboard, people or DEFAULT_PEOPLE))


def _own(file: Path, columns: tuple[str, ...], epsilon: str | None, people: int | None) -> Study:
    """The rows of a table; says what it costs a person, and which columns are left out."""
    from deniable_aggregator.operations.demo.study import Study, draw_people
    from deniable_aggregator.operations.demo.study_csv import read_study

    price = epsilon or DEFAULT_EPSILON
    rows, left_out = read_study(file, columns, price)
    for reason in left_out:
        say(f"Left out: {reason}")
    if len(rows.collections) > 1:
        say(f"{len(rows.collections)} collections, each at ε = {price}: a person pays for all.")
    return rows if people is None else Study(rows.collections, draw_people(rows.people, people))


def _show(outcome: SimulationResult, *, as_json: bool) -> None:
    """The document, or a table a collection and a line about the reports."""
    if as_json:
        emit(outcome.document())
        return
    for result in outcome.collections:
        truth_table(result)
    rows = [row for result in outcome.collections for row in result.rows]
    covered = sum(row.covers for row in rows)
    uploads = outcome.uploads
    click.echo(
        f"{covered} of {len(rows)} intervals cover the truth. {uploads.accepted:,} of "
        f"{uploads.sent:,} reports accepted, {uploads.duplicates:,} duplicates, "
        f"{uploads.rejected:,} rejected, in {outcome.seconds:.1f} s."
    )
    if uploads.waiting:
        say(f"{uploads.waiting:,} reports were given up: the service took them too slowly.")


def _stay(simulation: Simulation, *, err: bool) -> None:
    """Say where the service is and how to look in, and wait for Ctrl-C."""
    from deniable_aggregator.client.remote import remote

    address, name = simulation.server.address, simulation.first_name
    with remote(address, simulation.admin_token, trust_env=False) as client:
        viewer = client.make_token("viewer", "demo").document.token
        link = client.make_sign_in_link("demo", "admin").document.path
    asking = f"DENIABLE_URL={address} DENIABLE_TOKEN={viewer} deniable estimates {name}"
    click.echo(f"\nThe service stays on at {address} until Ctrl-C. Look at the charts:", err=err)
    click.echo(f"  {address}{link}&next=/collections/{name}", err=err)
    click.echo("  (signs you in once, within 15 minutes, as an admin of this demo)", err=err)
    click.echo(f"Or read an estimate with a viewer's token:\n  {asking}", err=err)
    try:
        code = simulation.server.wait()
    except KeyboardInterrupt:
        say("Stopping; the temporary directory is deleted.")
        return
    raise CommandFailed(f"the service stopped by itself (exit code {code})")
