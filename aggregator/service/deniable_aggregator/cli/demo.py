"""`deniable demo`: the whole way on one machine, with the people aboard the Titanic."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.options import example, json_option
from deniable_aggregator.cli.output import say

if TYPE_CHECKING:
    from deniable_aggregator.operations.demo.run import Simulation
    from deniable_aggregator.operations.demo.study import Study

DEFAULT_USERS = 5_000
ABOARD_EPSILON = "2"
BERTH_EPSILON = "1"
FIRST_CHART = "/collections/aboard"


@click.command(epilog=example("deniable demo", "deniable demo --no-serve --json --users 5000"))
@click.option(
    "--users",
    type=click.IntRange(1, 10_000_000),
    default=DEFAULT_USERS,
    show_default=True,
    help="How many people answer, drawn from the 2,201 aboard.",
)
@click.option("--no-serve", is_flag=True, help="Stop at once instead of leaving the service on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the service. [default: a free one]"
)
@json_option
def demo(users: int, no_serve: bool, port: int | None, as_json: bool) -> None:
    """See the whole way on this machine.

    A real service, real clients, real HTTP: people aboard the Titanic answer two collections,
    "aboard" (survived? a woman? a child? at ε = 2) and "berth" (which class? at ε = 1). Every
    answer is randomized before it leaves its client. The estimates are printed next to the truth;
    then the service stays on until Ctrl-C, with a link that opens the first chart in a browser, and
    its temporary directory is deleted.

    Data: British Board of Trade inquiry, 1912, as tabulated by R. Dawson, 1995; public domain.
    """
    from deniable_aggregator.cli.progress import progress_bar
    from deniable_aggregator.cli.simulation_tables import show
    from deniable_aggregator.operations.demo.run import run_study
    from deniable_aggregator.operations.process import serving

    study = titanic(users)
    with serving.signals_as_interrupt(), ExitStack() as stack:
        with progress_bar() as bar:
            simulation = stack.enter_context(run_study(study, port=port, watcher=bar))
        show(simulation.outcome, as_json=as_json)
        if not no_serve:
            _stay(simulation, err=as_json)


def _stay(simulation: Simulation, *, err: bool) -> None:
    """Say where the service is and how to look in, and wait for Ctrl-C."""
    from deniable_aggregator.client.remote import remote

    address = simulation.server.address
    with remote(address, simulation.admin_token, trust_env=False) as client:
        viewer = client.make_token("viewer", "demo").document.token
        link = client.make_sign_in_link("demo", "admin").document.path
    asking = f"DENIABLE_URL={address} DENIABLE_TOKEN={viewer} deniable estimates berth"
    click.echo(f"\nThe service stays on at {address} until Ctrl-C. Look at the charts:", err=err)
    click.echo(f"  {address}{link}&next={FIRST_CHART}", err=err)
    click.echo("  (signs you in once, within 15 minutes, as an admin of this demo)", err=err)
    click.echo(f"Or read an estimate with a viewer's token:\n  {asking}", err=err)
    try:
        code = simulation.server.wait()
    except KeyboardInterrupt:
        say("Stopping; the temporary directory is deleted.")
        return
    raise CommandFailed(f"the service stopped by itself (exit code {code})")


def titanic(users: int) -> Study:
    """`users` people drawn from those aboard, and what they are asked."""
    from deniable_aggregator.operations.demo.demo_data import BERTHS, TRAITS, people
    from deniable_aggregator.operations.demo.study import Study, StudyCollection, draw_people

    questions = (
        StudyCollection("aboard", "bits", TRAITS, ABOARD_EPSILON),
        StudyCollection("berth", "choice", BERTHS, BERTH_EPSILON),
    )
    return Study(questions, draw_people([person.answers() for person in people()], users))
