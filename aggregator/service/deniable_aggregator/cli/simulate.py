"""`deniable simulate`: your own data through the real client and a service of its own."""

from __future__ import annotations

from pathlib import Path

import click

from deniable_aggregator.cli.options import epsilon_option, example, json_option
from deniable_aggregator.cli.output import say


@click.command(
    epilog=example(
        "deniable simulate --csv people.csv --column plan --epsilon 1",
        "deniable simulate --csv people.csv --column beta --column dark --epsilon 2 --users 9000",
    )
)
@click.option(
    "--csv",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    metavar="FILE",
    help="One row a person, with a header.",
)
@click.option("--column", "columns", multiple=True, required=True, help="Once for each column.")
@epsilon_option
@click.option(
    "--users",
    type=click.IntRange(1, 10_000_000),
    help="How many people answer, drawn from the rows. [default: every row once]",
)
@json_option
def simulate(
    file: Path, columns: tuple[str, ...], epsilon: str, users: int | None, as_json: bool
) -> None:
    """Try it on your own data.

    Each row goes through the real client and over real HTTP to a service of its own, in a
    temporary directory that is deleted; then the truth is printed next to the estimate, its
    interval, and whether that covers. Columns of 0/1 (or true/false, yes/no) become the bits of
    one collection; every other column becomes a choice among the values it holds, in a collection
    of its own. Each collection costs a person ε.
    """
    from deniable_aggregator.cli.progress import progress_bar
    from deniable_aggregator.cli.simulation_tables import show
    from deniable_aggregator.operations.demo.run import run_study
    from deniable_aggregator.operations.demo.study import Study, draw_people
    from deniable_aggregator.operations.demo.study_csv import read_study
    from deniable_aggregator.operations.process import serving

    rows = read_study(file, columns, epsilon)
    people = rows.people if users is None else draw_people(rows.people, users)
    study = Study(rows.collections, people)
    if len(study.collections) > 1 and not as_json:
        say(f"{len(study.collections)} collections, each at ε = {epsilon}: a person pays for all.")
    with serving.signals_as_interrupt():
        with progress_bar() as bar, run_study(study, watcher=bar) as simulation:
            outcome = simulation.outcome
        show(outcome, as_json=as_json)
