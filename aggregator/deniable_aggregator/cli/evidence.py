"""What estimates say beside frequencies: significance, limits under lies, sets, warnings."""

from __future__ import annotations

from collections.abc import Iterator

from deniable_aggregator.cli.output import escaped, rows_of

__all__ = ["cells_of", "columns_of", "sentences_of"]

_COLUMNS = {
    "significant": "somebody",
    "lower_under_lies": "under lies",
    "liars_to_zero": "liars to 0",
}
_WARNED = {
    "unused-code": "A code that stands for no label was supported",
    "unused-codes": "The codes that stand for no label were supported",
    "weight": "All labels together were supported",
}


def columns_of(row: dict[str, object]) -> list[str]:
    """Names of the further columns, those that this row has."""
    return [column for name, column in _COLUMNS.items() if name in row]


def cells_of(row: dict[str, object]) -> list[str]:
    """Their cells."""
    cells = ["yes" if row["significant"] else "no"] if "significant" in row else []
    if "lower_under_lies" in row:
        cells.append(f"{_points(row['lower_under_lies'])} to {_points(row['upper_under_lies'])}%")
        cells.append(f"{_points(row['liars_to_zero'])}%")
    return cells


def sentences_of(document: dict[str, object]) -> Iterator[str]:
    """The sets that were asked for, how near a likelihood is, and what looks made up."""
    for found in rows_of(document.get("sets")):
        labels = found["labels"]
        name = " + ".join(map(str, labels)) if isinstance(labels, list) else ""
        ends = f"{_points(found['lower'])} to {_points(found['upper'])}%"
        yield escaped(
            f"{name}: {_points(found['frequency'])}% ± {_points(found['std_error'])}, {ends}"
        )
    short = document.get("likelihood_short")
    if isinstance(short, (int, float)):
        yield f"The log-likelihood is within {short:.2g} of the most that any frequencies have."
    for warning in rows_of(document.get("warnings")):
        seen = f"{warning['seen']:,} times, where {_whole(warning['expected'])} are expected"
        yield escaped(f"Warning: {_WARNED[str(warning['kind'])]} {seen}. {warning['meaning']}")


def _points(value: object) -> str:
    return f"{value * 100:.1f}" if isinstance(value, (int, float)) else "–"


def _whole(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else "–"
