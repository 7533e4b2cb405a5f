"""`deniable plan --explore`: the mechanism for each size and ε, as table, JSON and map."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from deniable_aggregator.cli.command_groups import CommandFailed
from deniable_aggregator.cli.output import console, emit, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.collections.planning.sweep import SweepPoint


def print_grid(
    domain_type: str, options: Mapping[str, Any], plot: Path | None, *, as_json: bool
) -> None:
    """Print the chosen mechanisms, and write their map to a file if `plot` names one."""
    from deniable_aggregator.collections.planning import decision_map, sweep
    from deniable_shared.errors import ParameterError

    try:
        sizes = sweep.sizes_of(domain_type, options["asks"])
        choices = sweep.decisions(sizes, domain_type=domain_type, **options)
        if plot is not None:
            plot.write_text(
                decision_map.render_svg(domain_type=domain_type, **options), encoding="utf-8"
            )
    except ParameterError as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"cannot write {plot}: {error.strerror}") from error
    if as_json:
        emit({"type": domain_type, **options, "choices": [asdict(choice) for choice in choices]})
    else:
        _show(choices, sweep.EPSILONS)


def _show(choices: Sequence[SweepPoint], epsilons: Sequence[str]) -> None:
    has_optimum = all(choice.ratio_to_optimum is not None for choice in choices)
    error_name = (
        "total error over the least there is" if has_optimum else "standard error of one report"
    )
    records = any(choice.attributes for choice in choices)
    grid = table(
        ["attributes" if records else "size", *(f"ε = {epsilon}" for epsilon in epsilons)],
        title=f"Chosen, bytes a report, {error_name}",
        numbers=frozenset({"size"}),
    )
    for start in range(0, len(choices), len(epsilons)):
        row = choices[start : start + len(epsilons)]
        grid.add_row(_size_text(row[0]), *(_cell(choice, has_optimum) for choice in row))
    screen = console()
    screen.print(grid)
    if not has_optimum:
        screen.print(
            "± is the standard error of one report, as a share of all people or of the whole "
            "range. With n reports it is √n times smaller.",
            highlight=False,
        )


def _size_text(choice: SweepPoint) -> str:
    from deniable_aggregator.collections.planning.sweep import radices_text

    if choice.attributes is None:
        return f"{choice.domain:,}"
    return radices_text(choice.attributes)


def _cell(choice: SweepPoint, has_optimum: bool) -> str:
    error = f"{choice.ratio_to_optimum:.3f}" if has_optimum else f"± {choice.std_error_of_one:.3g}"
    return f"{choice.mechanism}\n{choice.payload_bytes} B {error}"
