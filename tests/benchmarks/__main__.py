"""Run as uv run --project tests/benchmarks python -m benchmarks [--quick] [--only NAME]."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # budgets are those of one core
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import importlib
import runpy
import time
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from benchmarks import display, machine, peers
from benchmarks.measure import FULL, QUICK, Effort
from benchmarks.results import Result

NAMES = (
    "randomize",
    "choices",
    "record",
    "imports",
    "tally",
    "estimate",
    "words",
    "error",
    "intervals",
    "numbers",
    "central",
    "typical",
    "upload",
    "overload",
    "attacks",
    "scale",
    "ids",
    "memory",
    "pages",
    "web",
)
COMMAND = "uv run --project tests/benchmarks python -m benchmarks"
RESULTS = Path(__file__).parent / "RESULTS.md"
CAPACITY = Path(__file__).parents[2] / "deploy" / "export-capacity"


@click.command()
@click.option("--quick", is_flag=True, help="Short slices and small data: figures are rough.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Run just these.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the tables (default: RESULTS.md, after a full run only).",
)
@click.option(
    "--update", is_flag=True, help="Replace just these sections of RESULTS.md (with --only)."
)
@click.option(
    "--ids",
    type=click.IntRange(min=1),
    help="Report ids on disk while the aggregator's memory is looked at (default 1,000,000).",
)
@click.option(
    "--sealed",
    type=click.IntRange(min=1_000),
    help="Sealed reports that the engines of `scale` open and count (default 1,200,000).",
)
@click.option("--remark", default="", help="A line about the machine for the header.")
def main(
    quick: bool,
    only: tuple[str, ...],
    output: Path | None,
    update: bool,
    ids: int | None,
    sealed: int | None,
    remark: str,
) -> None:
    """What each step costs, compared with the peers and the machine's own limits."""
    if update and (quick or not only or output):
        raise click.UsageError("--update goes with --only, without --quick and --output")
    console = Console()
    effort = QUICK if quick else FULL
    effort = replace(effort, ids=ids or effort.ids, sealed=sealed or effort.sealed)
    started, before = time.monotonic(), machine.load()
    results = [_run(name, console, effort) for name in only or NAMES]
    display.show_budgets(console, [v for result in results for v in result.verdicts])
    loads = f"{before}; {machine.load()} (1 / 5 minutes, ours included)"
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    command = _command(quick, only, ids=ids, sealed=sealed)
    if update:
        measured = f"Measured by itself with `{command}`, {date}, load average {loads}."
        page = display.updated(RESULTS.read_text("utf-8"), results, measured=measured)
        _write(console, RESULTS, page)
        return
    whole = not quick and not only
    if (path := output or (RESULTS if whole else None)) is not None:
        header = [
            *machine.describe(),
            ("load average before / after", loads),
            ("date", date),
            ("took", f"{time.monotonic() - started:.0f} s"),
            *([("to know", remark)] if remark else []),
        ]
        text = display.markdown(results, command=command, machine=header, peers=peers.report())
        _write(console, path, text)


def _command(quick: bool, only: tuple[str, ...], **counts: int | None) -> str:
    options = [*(["--quick"] if quick else []), *(f"--only {name}" for name in only)]
    options += [f"--{name} {count}" for name, count in counts.items() if count]
    return " ".join([COMMAND, *options])


def _write(console: Console, path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    console.print(f"written: {path.name}")
    if path == RESULTS:  # deploy/CAPACITY.md is computed from it
        runpy.run_path(str(CAPACITY), run_name="__main__")
        console.print("written: CAPACITY.md")


def _run(name: str, console: Console, effort: Effort) -> Result:
    with console.status(f"{name} …"):
        result: Result = importlib.import_module(f"benchmarks.{name}").run(effort)
    display.show(console, result)
    return result


if __name__ == "__main__":
    main()
