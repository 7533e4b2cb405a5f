"""The estimates of a collection as one file to mail, print and keep.

It has the parts of the page, drawn without a script, and everything that they need: it loads
no address.
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from flask import Flask
from msgspec import UnsetType

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.describe import when
from deniable_aggregator.web.dashboard import formatting
from deniable_aggregator.web.dashboard.assets import STATIC
from deniable_aggregator.web.dashboard.estimate_charts import bar_chart, cross_table
from deniable_aggregator.web.dashboard.estimate_tables import (
    axis_of,
    has_numbers,
    quantity_table,
    series_bands,
    series_table,
)
from deniable_aggregator.web.dashboard.results import promises, results, title_of
from deniable_shared.domains import Record
from deniable_shared.manifest.epochs import epoch_start
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask.templating import Environment

    from deniable_aggregator.documents.estimates import EstimatesDocument, SeriesRow
    from deniable_aggregator.web.dashboard.charts import Chart
    from deniable_aggregator.web.dashboard.page import Context

MOST_LABELS = 500
MOST_BANDS = 12
"""Labels that are drawn over time: those with the largest estimates."""

MOST_EPOCHS = 1_000
_DARK = re.compile(r'^\[data-theme="dark"\] (\{.*?^\})', re.DOTALL | re.MULTILINE)


def series_labels(document: EstimatesDocument) -> list[str]:
    """Of numbers mean and median, else the labels with the largest estimates.

    None of texts: they were found in these very reports. None of one epoch, or of very many.
    """
    if document.evidence or not 1 < len(document.epochs) <= MOST_EPOCHS:
        return []
    if document.quantities:
        return [row.name for row in document.quantities if row.name in ("mean", "p50")]
    shares = {row.label: row.frequency for row in document.estimates if row.frequency is not None}
    largest = sorted(shares, key=lambda label: -shares[label])[:MOST_BANDS]
    return [label for label in shares if label in largest]


def estimates_file(
    envelope: bytes,
    document: EstimatesDocument,
    series: Sequence[SeriesRow],
    *,
    tables: Sequence[str] = (),
    together: bool = False,
    now: float,
) -> str:
    """HTML with everything in it.

    `envelope` is the signed manifest, `tables` the tables of a record that were asked for, and
    `together` says whether all intervals hold together.
    """
    manifest = parse_manifest(dsse.unverified_payload(envelope, payload_type=MANIFEST_TYPE))
    collection = Collection.from_manifest(manifest)
    batch = 0 if isinstance(document.shuffled, UnsetType) else document.shuffled.batch
    example = max(document.estimates, key=lambda row: row.frequency or 0.0, default=None)
    style = _style()
    return (
        _environment()
        .get_template("estimates_file.html")
        .render(
            **promises(collection, batch),
            **results(collection, document, example),
            quantities=quantity_table(document),
            **_over_time(collection, series),
            estimates=_answers(collection, document),
            cross=_cross_table(collection, document, tables),
            left_out=max(len(document.estimates) - MOST_LABELS, 0),
            as_table=True,
            together=together,
            style=style,
            style_hash=style_hash(style),
            written=datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M"),
            version=version("deniable-aggregator"),
        )
    )


def _answers(collection: Collection, document: EstimatesDocument) -> Chart | None:
    if not document.estimates and document.quantities:
        return None
    rows = document.estimates[:MOST_LABELS]
    return bar_chart(rows, title=title_of(collection), files={}, follow=lambda _label: None)


def _cross_table(
    collection: Collection, document: EstimatesDocument, tables: Sequence[str]
) -> Chart | None:
    """Of a record, if just one table of two attributes was asked for."""
    names = [name.strip() for name in tables[0].split(",")] if len(tables) == 1 else []
    domain = collection.manifest.domain
    if not isinstance(domain, Record) or len(names) != 2:
        return None
    return cross_table(document, domain, names, title=" and ".join(names), files={}, name="cross")


def _over_time(collection: Collection, series: Sequence[SeriesRow]) -> Context:
    if not series:
        return {}
    seconds = collection.manifest.epoch_seconds

    def starts(epoch: int) -> str:
        return when(epoch_start(epoch, seconds))

    axis = axis_of(series, shares=not has_numbers(series))
    return {
        "axis": axis,
        "bands": series_bands(series, axis),
        "series": series_table(series, starts),
        "first": starts(series[0].epoch),
        "last": starts(series[-1].epoch),
    }


@cache
def _environment() -> Environment:
    """The templates of the pages; what they load becomes a part of them."""
    environment = Flask("deniable_aggregator.web.dashboard", static_folder=None).jinja_env
    environment.filters.update({each.__name__: each for each in formatting.FILTERS})
    environment.globals["asset"] = _data_address
    return environment


def _data_address(name: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode((STATIC / name).read_bytes()).decode()}"


@cache
def _style() -> str:
    """The pages' styles. Without a script that chooses, the dark theme follows the system."""
    pico, ours = (
        (STATIC / name).read_text("utf-8") for name in ("vendor/pico.css", "deniable.css")
    )
    return "\n".join((pico, ours, dark_by_system()))


@cache
def dark_by_system() -> str:
    """The dark colours where no script chooses a theme: as the system has it."""
    dark = _DARK.findall((STATIC / "deniable.css").read_text("utf-8"))[0]
    return f"@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme]) {dark} }}"


def style_hash(style: str) -> str:
    """What a policy names to allow this style and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}"
