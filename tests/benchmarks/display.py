"""Tables for the terminal and for RESULTS.md from the same results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Line
from benchmarks.results import Case, Result, Verdict, figure

COLUMNS = ("", "figure", "rounds", "deniable is better by ×", "")
BUDGETS = "## Budgets"
BUDGET_COLUMNS = ("budget", "reached", "", "what bounds it")


def show(console: Console, result: Result) -> None:
    """Print one benchmark's tables; budgets come at the end, all together."""
    console.rule(result.title)
    for case in result.cases:
        table = _table(case.title, COLUMNS)
        for line in case.lines:
            table.add_row(*_row(case, line), style="bold" if line.role == "ours" else None)
        console.print(table)
    for grid in result.grids:
        table = _table(grid.title, grid.columns)
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def show_budgets(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Print the budgets, missed ones in red."""
    table = _table("budgets", BUDGET_COLUMNS)
    for verdict in verdicts:
        table.add_row(*_budget_row(verdict), style=None if verdict.met else "red")
    console.print(table)


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left")
    return table


def _row(case: Case, line: Line) -> tuple[str, ...]:
    return (
        f"{line.name} ({line.role})",
        f"{figure(line.median)} {line.unit}",
        f"{figure(min(line.values))}–{figure(max(line.values))}" if len(line.values) > 1 else "",
        _ratio(case, line),
        line.note,
    )


def _ratio(case: Case, line: Line) -> str:
    if line.role not in ("peer", "limit"):
        return ""
    ratio, low, high = case.ours.speed_over(line)
    return f"{figure(ratio)} ({figure(low)}–{figure(high)})"


def _budget_row(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.budget, verdict.reached, verdict.word, verdict.bound)


def markdown(
    results: Sequence[Result],
    *,
    command: str,
    machine: Sequence[tuple[str, str]],
    peers: Sequence[tuple[str, str, str]],
) -> str:
    """The whole of RESULTS.md."""
    parts = [
        "# Results",
        "",
        f"Measured by `{command}`.",
        "Contenders run in interleaved rounds; figures are medians of the rounds with their",
        "least and greatest, and ratios are medians of the rounds' own ratios: above 1 deniable is",
        "faster (or smaller), below 1 slower. A *peer* does the same job, a *limit* only a part of",
        "it: it says what this machine allows.",
        "",
        *_markdown_table(("machine", ""), machine),
        *_markdown_table(("peer", "version", "to know"), peers),
        BUDGETS,
        "",
        *_markdown_table(BUDGET_COLUMNS, [_budget_row(v) for r in results for v in r.verdicts]),
    ]
    for result in results:
        parts += _section(result)
    return "\n".join(parts).rstrip() + "\n"


def updated(page: str, results: Sequence[Result], *, measured: str) -> str:
    """RESULTS.md with these sections and their budgets measured again, all others as they were.

    A section that is new goes to the end; `measured` says in each how it came about.
    """
    for result in results:
        section = "\n".join(_section(result, measured=measured))
        page = _replaced(page, f"## {result.title}", section)
        rows = _markdown_rows(map(_budget_row, result.verdicts))
        names = (verdict.budget for verdict in result.verdicts)
        page = _with_budgets(page, dict(zip(names, rows, strict=True)))
    return page.rstrip() + "\n"


def _replaced(page: str, heading: str, section: str) -> str:
    parts = re.split(r"^(?=## )", page.rstrip() + "\n\n", flags=re.M)
    places = [n for n, part in enumerate(parts) if part.startswith(heading + "\n")]
    if not places:
        return "".join([*parts, section])
    return "".join([*parts[: places[0]], section + "\n", *parts[places[0] + 1 :]])


def _with_budgets(page: str, rows: dict[str, str]) -> str:
    """The table of budgets with these rows, in place where their budgets stand already."""
    before, heading, after = page.partition(BUDGETS + "\n")
    table, gap, rest = after.lstrip("\n").partition("\n\n")
    lines = table.splitlines()
    kept = [rows.pop(line[2:].partition(" | ")[0], line) for line in lines]
    return before + heading + "\n" + "\n".join([*kept, *rows.values()]) + gap + rest


def _section(result: Result, *, measured: str = "") -> list[str]:
    parts = [f"## {result.title}", ""]
    parts += [measured, ""] if measured else []
    for case in result.cases:
        parts += [f"### {case.title}", ""]
        parts += _markdown_table(COLUMNS, [_row(case, line) for line in case.lines])
    for grid in result.grids:
        parts += [f"### {grid.title}", "", *_markdown_table(grid.columns, grid.rows)]
    for remark in result.remarks:
        parts += [f"- {remark}"]
    return [*parts, ""]


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [*_markdown_rows([columns, ["---"] * len(columns), *rows]), ""]


def _markdown_rows(rows: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in rows]
