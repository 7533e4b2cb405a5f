"""`python -m deniable_central.reconstruction`: what exact answers reveal, on invented rows."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from deniable_central.errors import CentralError
from deniable_central.reconstruction.demonstration import Attempt, Demonstration, demonstrate
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_ROWS, MOST_QUERIES = 200, 5_000
COLUMNS = ("answers", "ε in all", "± 1 se", "rows recovered", "share", "any attack")
EXPLANATION = """\
Draws a secret bit for each row and asks how many ones there are in random
subsets of the rows. Then least squares guesses every row from three kinds of
counts: exact ones, counts with noise of ε for each alone, as without a ledger,
and counts with noise of ε for all of them together. Everything is made up and
nothing is kept."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attack. Returns 0 if it ran, 2 for arguments with which it cannot run."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        demonstration = demonstrate(
            rows=options.rows, queries=options.queries, epsilon=options.epsilon, progress=_progress
        )
    except (CentralError, ParameterError) as error:
        parser.error(str(error))
    if options.json:
        print(json.dumps(_document(demonstration), indent=2))
    else:
        print("\n".join(_lines(demonstration)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deniable_central.reconstruction",
        description=EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rows",
        type=_count(MOST_ROWS),
        default=MOST_ROWS,
        metavar="N",
        help=f"secret bits, 1 to {MOST_ROWS} (default: {MOST_ROWS})",
    )
    parser.add_argument(
        "--queries",
        type=_count(MOST_QUERIES),
        metavar="N",
        help=f"counts of subsets, 1 to {MOST_QUERIES} (default: 4 for each row)",
    )
    parser.add_argument(
        "--epsilon", default="1", metavar="E", help="ε of all answers together (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


class _count:  # noqa: N801  (argparse shows the name of a type in its errors)
    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self, text: str) -> int:
        value = int(text) if text.isdecimal() else 0
        if not 1 <= value <= self._most:
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {self._most}")
        return value


def _progress(answers: str) -> None:
    print(f"attacking {answers} answers ...", file=sys.stderr, flush=True)


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


def _lines(demonstration: Demonstration) -> Iterator[str]:
    rows, queries = demonstration.rows, demonstration.queries
    yield f"{rows:,} secret bits from {queries:,} counts of random subsets"
    yield ""
    table = [COLUMNS, *(_cells(attempt, demonstration) for attempt in demonstration.attempts)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells])
    yield ""
    low, high = demonstration.guessing
    yield f"Guessing recovers {low} to {high} of {rows} in 95% of cases."
    yield "Any attack: the most that any computation on these answers recovers, on average."


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


if __name__ == "__main__":
    sys.exit(main())
