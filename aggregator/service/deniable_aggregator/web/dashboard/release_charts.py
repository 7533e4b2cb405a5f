"""What is shown of a release or of its price: tables, bars with intervals, plain sentences.

What a family releases is a JSON object. Lists of objects in it are tables, and charts where rows
have an interval around a share; everything else is a fact in a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deniable_aggregator.documents.describe import (
    cost_words,
    days_of,
    epochs_words,
    request_text,
)
from deniable_aggregator.releases.kinds.shares import read_ranges
from deniable_aggregator.web.dashboard.addresses import Address, download_links
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.formatting import (
    NOTHING,
    amount,
    chance,
    count,
    digits_for,
    rounded,
    share,
)
from deniable_shared.domains import Number

if TYPE_CHECKING:
    from deniable_aggregator.documents.releases import (
        BarDocument,
        CostDocument,
        QuoteDocument,
        ReleaseDocument,
        RemainingDocument,
    )
    from deniable_shared.domains import Domain

SHARES = frozenset({"frequency", "lower", "upper", "projected", "std_error", "share"})
FIRST = (
    *("epoch", "good", "quantity", "label", "labels", "price", "prices"),
    *("frequency", "share", "value", "lower", "upper", "least", "most"),
)
CURRENCIES = (("ε", "epsilon"), ("ρ", "rho"), ("δ", "delta"))
HEADINGS = {
    "epoch": "period",
    "noisy": "noisy count",
    "projected": "adjusted",
    "std_error": "standard error",
}
_LARGE = 1_000  # from here on decimals are noise

Rows = Sequence[Mapping[str, Any]]


def short_price(cost: CostDocument) -> str:
    """Without ρ where there is an ε: it is in the document, and there is seldom a limit to it."""
    return cost_words(cost if cost.epsilon is None else replace(cost, rho=None))


def budget_rows(quote: QuoteDocument) -> list[tuple[str, str, str, str, str]]:
    """Account, currency, limit, left before and after; a row for each currency with a limit."""
    after = quote.after
    return [
        *_account_rows(
            "The period with the least left", quote.budget.epoch, after.epoch if after else None
        ),
        *_account_rows(
            "One installation", quote.budget.installation, after.installation if after else None
        ),
    ]


def _account_rows(
    name: str, before: RemainingDocument, after: RemainingDocument | None
) -> Iterator[tuple[str, str, str, str, str]]:
    for symbol, key in CURRENCIES:
        limit, left = getattr(before.limit, key), getattr(before.left, key)
        if limit is not None and (key == "epsilon" or limit != "0"):
            then = "–" if after is None else str(getattr(after.left, key))
            yield name, symbol, limit, str(left), then


def error_bar_rows(bars: Iterable[BarDocument]) -> list[tuple[str, str, str, str]]:
    """The error, from, to, and with which probability."""
    return [
        (bar.quantity, _end(bar.lower), _end(bar.upper), chance(bar.confidence)) for bar in bars
    ]


def _end(value: float | None) -> str:
    return NOTHING if value is None else rounded(value)


def facts_of(document: ReleaseDocument) -> list[tuple[str, str]]:
    """What is no table."""
    return [
        (_column_title(name), _text(name, document.result[name]))
        for name in _order_columns(document.result)
        if not _rows_of(document.result[name])
    ]


def tables_of(document: ReleaseDocument) -> dict[str, Rows]:
    """The lists of objects in it, each by its name."""
    tables = ((name, _rows_of(document.result[name])) for name in _order_columns(document.result))
    return {name: rows for name, rows in tables if rows}


def labels_of_ranges(document: ReleaseDocument, domain: Domain) -> Mapping[str, Sequence[str]]:
    """The numbers in each range of a release of `shares`, by the range's label; else empty."""
    if document.mechanism != "shares" or not isinstance(domain, Number):
        return {}
    places = read_ranges(document.parameters["ranges"], domain)
    return {
        row["label"]: domain.labels[first : last + 1]
        for row, (first, last) in zip(document.result["estimates"], places, strict=True)
    }


def charts_of(document: ReleaseDocument, address: Address, *, ordered: bool) -> list[Chart]:
    """A table each; drawn where its rows have an interval, the largest first unless `ordered`."""
    return [
        _chart(name, rows if ordered else _largest_first(rows), download_links(address, table=name))
        for name, rows in tables_of(document).items()
    ]


def _largest_first(rows: Rows) -> Rows:
    """Rows with intervals around shares in the order of the shares; others as they are."""
    if not all(_interval(row) for row in rows):
        return rows
    return sorted(rows, key=lambda row: -float(row.get("frequency", row.get("share"))))


def _chart(name: str, rows: Rows, files: Mapping[str, str]) -> Chart:
    columns = _order_columns(rows[0])
    widths = [100 * (_number(r, "upper") - _number(r, "lower")) for r in rows if _interval(r)]
    digits = digits_for(widths)
    drawn = [_bar_of(row, columns[0]) for row in rows if _interval(row)]
    title = {"estimates": "What was released"}.get(name, _column_title(name).capitalize())
    return Chart(
        name=name.replace("_", "-"),
        title=title,
        summary=f"{title}: {len(rows)} rows; the table has every number",
        kind="bars",
        drawing={"rows": drawn},
        columns=[_column_title(column).capitalize() for column in columns],
        rows=[[_cell(column, row.get(column), digits) for column in columns] for row in rows],
        digits=digits,
        files=files,
    )


def _bar_of(row: Mapping[str, Any], first: str) -> dict[str, object]:
    middle = row.get("frequency", row.get("share"))
    return {
        "label": _text(first, row[first]),
        "value": middle,
        "lower": row["lower"],
        "upper": row["upper"],
    }


def _interval(row: Mapping[str, Any]) -> bool:
    """Around a share."""
    numbers = (row.get("lower"), row.get("upper"), row.get("frequency", row.get("share")))
    return all(isinstance(each, int | float) for each in numbers)


def _number(row: Mapping[str, Any], name: str) -> float:
    return float(row[name])


def _cell(name: str, value: object, digits: int) -> Cell:
    if isinstance(value, float) and name in SHARES:
        return Cell(share(value, digits), value)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Cell(_text(name, value), number)


def _text(name: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if name == "epoch" else count(value)
    if isinstance(value, float):
        return share(value) if name in SHARES else amount(value, 0 if abs(value) >= _LARGE else 2)
    if isinstance(value, list):
        return ", ".join(_text(name, each) for each in value)
    return str(value)


def _rows_of(value: object) -> Rows:
    """A list of objects; nothing of anything else."""
    rows = value if isinstance(value, list) else []
    return rows if rows and all(isinstance(row, dict) for row in rows) else ()


def _order_columns(names: Iterable[str]) -> list[str]:
    listed = [*names]
    return [*(n for n in FIRST if n in listed), *(n for n in listed if n not in FIRST)]


def _column_title(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))


FILTERS: tuple[Callable[..., str], ...] = (
    *(request_text, cost_words, days_of, epochs_words, short_price),
)
"""What templates may use."""
