"""`deniable demo`: runs a whole service on one machine, with simulated people or your table."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.estimate_tables import truth_table
from deniable_aggregator.cli.options import checked_epsilon, example, json_option
from deniable_aggregator.cli.output import emit, say

if TYPE_CHECKING:
    from deniable_aggregator.operations.demo.client_processes import Uploads
    from deniable_aggregator.operations.demo.run import RunningDemo
    from deniable_aggregator.operations.demo.study import Study

DEFAULT_EPSILON = "1"
WATCHED_SECONDS = 60


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
    help="Use your own table: one row for each person, with a header.",
)
@click.option(
    "--column", "columns", multiple=True, help="A column of the table to ask about. [default: all]"
)
@click.option(
    "--epsilon",
    callback=checked_epsilon,
    metavar="E",
    help="ε of one whole answer. [default: 1]",
)
@click.option(
    "--people",
    type=click.IntRange(1, 10_000_000),
    help="How many people to draw from the rows. [default: every row once]",
)
@click.option("--no-serve", is_flag=True, help="Print the estimates and stop.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the service. [default: a free one]"
)
@json_option
def demo(  # noqa: PLR0913  (click passes each option by name)
    file: Path | None,
    columns: tuple[str, ...],
    epsilon: str | None,
    people: int | None,
    no_serve: bool,
    port: int | None,
    as_json: bool,
) -> None:
    """See a service with thirty days of answers.

    Simulated people answer five questions: yes or no, a choice, a number, a table of two, and a
    text. The answers of past days are drawn directly from each mechanism's distribution. Today 200
    real clients answer over HTTP while you watch. Every chart shows the truth as a tick.
    The link opens the demo in a browser until Ctrl-C; then everything is deleted.

    With --csv the people are the rows of your own table: each answers once, on some day. Columns
    of 0/1 (or true/false, yes/no) become the bits of one collection. Every other column becomes a
    choice among its values, in a collection of its own. Each collection costs a person ε.
    """
    from deniable_aggregator.cli.terminal import progress_bar
    from deniable_aggregator.operations.demo.run import run_demo
    from deniable_aggregator.operations.process import serving

    if file is None and (columns or epsilon or people):
        raise click.UsageError("--column, --epsilon and --people need a table: --csv FILE")
    began = time.monotonic()
    study = _made_up() if file is None else _own(file, columns, epsilon, people)
    with serving.signals_as_interrupt(), ExitStack() as stack:
        with progress_bar() as bar:
            running = stack.enter_context(run_demo(study, port=port, watcher=bar))
        if no_serve:
            with progress_bar() as bar:
                uploads = running.send(watcher=bar)
            _show(running, uploads, began, tables=True, as_json=as_json)
            return
        _show_link(running, err=as_json)
        try:
            with progress_bar() as bar:
                uploads = running.send(seconds=WATCHED_SECONDS, watcher=bar)
            _show(running, uploads, began, tables=False, as_json=as_json)
            _stay(running)
        except KeyboardInterrupt:
            say("Stopping; the temporary directory is deleted.")


def _made_up() -> Study:
    from deniable_aggregator.operations.demo.questions import made_up_study

    return made_up_study()


def _own(file: Path, columns: tuple[str, ...], epsilon: str | None, people: int | None) -> Study:
    """The study of a table's rows. Prints its cost for one person, and the columns left out."""
    from deniable_aggregator.operations.demo.own_table import read_study

    price = epsilon or DEFAULT_EPSILON
    study, left_out = read_study(file, columns, price, people=people)
    for reason in left_out:
        say(f"Left out: {reason}")
    if len(study.questions) > 1:
        say(f"{len(study.questions)} collections, each at ε = {price}: a person spends the sum.")
    return study


def _show_link(running: RunningDemo, *, err: bool) -> None:
    """Print the link to the demo, and what to look at."""
    first = running.study.questions[0].name
    with running.client() as client:
        analyst = client.make_token("analyst", "demo").document.token
    address = running.server.address
    asking = f"DENIABLE_URL={address} DENIABLE_TOKEN={analyst} deniable estimates {first}"
    for line in (
        f"Open {running.link}&next=/collections/{first}",
        "",
        "  The link signs you in as often as you like, until Ctrl-C ends the demo and deletes it.",
        f"  {len(running.study.people)} real clients send for the next minute: {address}/health",
        "  A tick on each bar is the truth: people and past days are simulated. Look also at",
        "  Compare (what changed?), Releases (one is made) and Budgets (what it cost).",
        f"  {asking}",
    ):
        click.echo(line, err=err)


def _show(
    running: RunningDemo, uploads: Uploads, began: float, *, tables: bool, as_json: bool
) -> None:
    """Print the JSON document, or a table for each collection and how many intervals held."""
    from deniable_aggregator.operations.demo.run import DemoResult

    outcome = DemoResult(running.results(), uploads, round(time.monotonic() - began, 3))
    if as_json:
        emit(outcome.document())
        return
    for result in outcome.collections if tables else ():
        truth_table(result)
    rows = [row for result in outcome.collections for row in result.rows]
    covered = sum(row.covers for row in rows)
    click.echo(
        f"{covered} of {len(rows)} intervals cover the truth. {uploads.accepted:,} of "
        f"{uploads.sent:,} reports accepted, {uploads.duplicates:,} duplicates, "
        f"{uploads.rejected:,} rejected, in {outcome.seconds:.1f} s."
    )
    if uploads.waiting:
        say(f"{uploads.waiting:,} reports were not sent: the service accepted them too slowly.")


def _stay(running: RunningDemo) -> None:
    """Wait for Ctrl-C."""
    say("Ctrl-C ends the demo.")
    code = running.server.wait()
    raise CommandFailed(f"the service stopped unexpectedly (exit code {code})")
