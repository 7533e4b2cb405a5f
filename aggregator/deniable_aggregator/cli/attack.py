"""`deniable attack`: what exact answers give away, shown on made-up rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.options import checked_epsilon, example, json_option
from deniable_aggregator.cli.output import console, emit, escape_markup, table

if TYPE_CHECKING:
    from deniable_aggregator.central.reconstruction import Attempt, Demonstration

MOST_ROWS, MOST_QUERIES = 200, 5_000
NUMBERS = frozenset({"ε in all", "± 1 se", "rows recovered", "share", "any attack"})


@click.group()
def attack() -> None:
    """See what exact answers give away, and what private ones do not."""


@attack.command(
    epilog=example(
        "deniable attack reconstruct",
        "deniable attack reconstruct --rows 100 --queries 1000 --epsilon 0.5 --json",
    )
)
@click.option(
    "--rows",
    type=click.IntRange(1, MOST_ROWS),
    default=MOST_ROWS,
    show_default=True,
    help="How many secret bits.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, MOST_QUERIES),
    help="How many subsets are counted. [default: 4 a row]",
)
@click.option(
    "--epsilon",
    default="1",
    show_default=True,
    callback=checked_epsilon,
    metavar="E",
    help="ε of all answers together.",
)
@json_option
def reconstruct(rows: int, queries: int | None, epsilon: str, as_json: bool) -> None:
    """Read secret rows back from counts.

    Draws a secret bit for each row and asks how many ones there are in random subsets. Then least
    squares guesses every row, from the exact counts, from counts with noise of ε for each alone, as
    without a ledger, and from counts with noise of ε for all of them together. Everything is made
    up and nothing is kept: no data directory is needed.
    """
    from deniable_aggregator.central.reconstruction import demonstrate

    demonstration = demonstrate(rows=rows, queries=queries, epsilon=epsilon)
    if as_json:
        emit(_document(demonstration))
    else:
        _show(demonstration)


def _document(demonstration: Demonstration) -> dict[str, object]:
    low, high = demonstration.guessing
    return {
        "rows": demonstration.rows,
        "queries": demonstration.queries,
        "epsilon": float(demonstration.epsilon),
        "guessing": {"lower": low, "upper": high, "confidence": 0.95},
        "attempts": [
            {
                "answers": attempt.answers,
                "epsilon": None if attempt.epsilon is None else float(attempt.epsilon),
                "std_error": attempt.std_error,
                "recovered": attempt.recovered,
                "share": attempt.recovered / demonstration.rows,
                "at_most": float(attempt.at_most),
            }
            for attempt in demonstration.attempts
        ],
    }


def _show(demonstration: Demonstration) -> None:
    columns = ["answers", "ε in all", "± 1 se", "rows recovered", "share", "any attack"]
    rows, queries = demonstration.rows, demonstration.queries
    results = table(
        columns,
        title=escape_markup(f"{rows:,} secret bits from {queries:,} counts of random subsets"),
        numbers=NUMBERS,
        whole=frozenset(columns),
    )
    for attempt in demonstration.attempts:
        results.add_row(*map(escape_markup, _cells(attempt, demonstration)))
    low, high = demonstration.guessing
    screen = console()
    screen.print(results)
    screen.print(f"Guessing recovers {low} to {high} of {demonstration.rows} in 95% of cases.")
    screen.print("Any attack: the most that any computation on these answers recovers, on average.")


def _cells(attempt: Attempt, demonstration: Demonstration) -> tuple[str, ...]:
    each = f"{float(demonstration.epsilon):g}"
    names = {
        "exact": "exact",
        "unaccounted": f"ε = {each} for each alone",
        "private": f"ε = {each} for all together",
    }
    return (
        names[attempt.answers],
        "–" if attempt.epsilon is None else f"{float(attempt.epsilon):,.4g}",
        f"{attempt.std_error:,.1f}",
        f"{attempt.recovered:,} of {demonstration.rows:,}",
        f"{attempt.recovered / demonstration.rows:.1%}",
        f"{float(attempt.at_most):.1%}",
    )
