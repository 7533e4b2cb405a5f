"""What estimates say beside frequencies: significance, limits under lies, sets, warnings."""

from __future__ import annotations

from collections.abc import Iterator

from deniable_aggregator.cli.output import escaped, plain_table, rows_of

__all__ = ["cells_of", "columns_of", "lies_table", "sentences_of"]

_WARNED = {
    "unused-code": "A code that stands for no label was supported",
    "unused-codes": "The codes that stand for no label were supported",
    "weight": "All labels together were supported",
}


def columns_of(row: dict[str, object]) -> list[str]:
    """Names of the further columns, those that this row has."""
    return ["somebody"] if "significant" in row else []


def cells_of(row: dict[str, object]) -> list[str]:
    """Their cells."""
    return ["yes" if row["significant"] else "no"] if "significant" in row else []


def lies_table(rows: list[dict[str, object]]) -> None:
    """What holds whatever liars made up, if that was asked for."""
    if "liars_to_zero" not in rows[0]:
        return
    cells = [
        (
            str(row["label"]),
            f"{_points(row['lower_under_lies'])} to {_points(row['upper_under_lies'])}%",
            f"{_points(row['liars_to_zero'])}%",
        )
        for row in rows
    ]
    plain_table(("label", "interval under lies", "reaches 0 with liars of"), cells)


def sentences_of(document: dict[str, object]) -> Iterator[str]:
    """The sets and ranges that were asked for, how near a likelihood is, and what looks made up."""
    for found in rows_of(document.get("sets")):
        labels = found["labels"]
        yield _share(" + ".join(map(str, labels)) if isinstance(labels, list) else "", found)
    for found in rows_of(document.get("ranges")):
        yield _share(f"{found['low']} to {found['high']}", found)
    short = document.get("likelihood_short")
    if isinstance(short, (int, float)):
        yield f"The log-likelihood is within {short:.2g} of the most that any frequencies have."
    yield from _anonymity(document.get("shuffled"))
    for warning in rows_of(document.get("warnings")):
        seen = f"{warning['seen']:,} times, where {_whole(warning['expected'])} are expected"
        yield escaped(f"Warning: {_WARNED[str(warning['kind'])]} {seen}. {warning['meaning']}")


def _anonymity(found: object) -> Iterator[str]:
    if not isinstance(found, dict):
        return
    yield (
        f"Through the relay, in batches of {found['batch']:,}: ε = {found['epsilon']:.3g} at "
        f"δ = {found['delta']:g} a report, if at most {found['liars']:.0%} of a batch is made up; "
        f"ε = {found['epsilon_all']:.3g} at δ = {found['delta_all']:g} for all that one sends "
        "(conditions: --json)."
    )


def _share(name: str, found: dict[str, object]) -> str:
    ends = f"{_points(found['lower'])} to {_points(found['upper'])}%"
    return escaped(
        f"{name}: {_points(found['frequency'])}% ± {_points(found['std_error'])}, {ends}"
    )


def _points(value: object) -> str:
    return f"{value * 100:.1f}" if isinstance(value, (int, float)) else "–"


def _whole(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else "–"
