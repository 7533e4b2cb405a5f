"""The page itself: what was asked, what came out with its doubt, what it reveals of anybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files

from deniable_aggregator.collections.authoring.recommendation import (
    describe_ratio,
    ratio_to_optimum,
)
from deniable_aggregator.web.dashboard.guarantees import report_guarantees
from deniable_aggregator.web.report.contents import ReportContents
from deniable_aggregator.web.report.influence_text import influence_sentence
from deniable_aggregator.web.report.markup import Child, Element, element, to_html
from deniable_aggregator.web.report.tables import (
    MOST_LABELS,
    label_table,
    quantity_table,
    series_charts,
)
from deniable_shared.manifest.epochs import epoch_end, epoch_start
from deniable_shared.manifest.model import Manifest


def page(contents: ReportContents, *, now: float) -> str:
    """HTML with everything in it."""
    manifest = contents.manifest
    style = (files("deniable_aggregator.web.report") / "page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        element("title", f"{manifest.name}: {manifest.purpose}"),
        element("style", style),
    )
    sections = [
        *_header(contents),
        *_estimates(contents),
        *_over_time(contents),
        *_guarantees(contents),
    ]
    main = element("main", *sections, _footer(contents, now))
    return to_html(element("html", head, element("body", main), lang="en"))


def _header(contents: ReportContents) -> Iterator[Element]:
    estimates, manifest = contents.estimates, contents.manifest
    yield element("h1", manifest.purpose)
    yield element("p", f"{manifest.name}, asked by {manifest.owner}", class_="soft")
    summary: dict[str, Sequence[Child]] = {
        "Reports": [f"{estimates.n:,}"],
        "Days" if manifest.epoch_seconds == 86_400 else "Epochs": _span(contents),
        "Privacy of one report": [f"ε = {estimates.epsilon}"],
        "Mechanism": [estimates.mechanism],
        "Confidence": [f"{estimates.confidence}"],
    }
    pairs = (element("div", element("dt", k), element("dd", *v)) for k, v in summary.items())
    yield element("dl", *pairs, class_="facts")
    if estimates.provisional:
        yield element(
            "p",
            "Provisional: an epoch is still open, and reports of it may arrive.",
            class_="warning",
        )
    for warning in estimates.warnings or []:
        yield element("p", f"These reports look made up: {warning.meaning}", class_="warning")


def _estimates(contents: ReportContents) -> Iterator[Element]:
    estimates = contents.estimates
    quantities = quantity_table(estimates)
    if quantities is not None:
        yield element("h2", "Mean and quantiles")
        yield _scroll_region(quantities, "Mean and quantiles")
    rows = estimates.estimates
    if rows:
        yield element("h2", "What people answer")
        yield _scroll_region(label_table(estimates, together=contents.together), "Estimates")
    elif quantities is None:
        yield element("p", "No text stands out from chance yet.")
    if len(rows) > MOST_LABELS:
        yield element(
            "p", f"The first {MOST_LABELS:,} of {len(rows):,} labels; the API and CSV have all."
        )


def _scroll_region(table: Element, name: str) -> Element:
    """A table that may be wider than a phone, for the keyboard, too."""
    return element(
        "div", table, class_="card", role="region", tabindex=0, aria_label=f"{name}, as a table"
    )


def _over_time(contents: ReportContents) -> Iterator[Element]:
    made = series_charts(contents.series, lambda row: _begins(contents.manifest, row.epoch))
    if made is None:
        return
    figures, table = made
    yield element("h2", "Over time")
    yield element("div", *figures, class_="courses")
    yield element(
        "details",
        element("summary", "The same as a table"),
        _scroll_region(table, "Estimates by epoch"),
    )
    once = contents.manifest.repeat == "once"
    why = "" if once else " Do not average them: one device may have reported in each."
    said = f"Each epoch stands for itself.{why} The estimates above are of all of them together."
    yield element("p", said, class_="soft")


def _guarantees(contents: ReportContents) -> Iterator[Element]:
    manifest = contents.manifest
    yield element("h2", "What one report reveals")
    yield element("ul", *(element("li", sentence) for sentence in report_guarantees(manifest)))
    yield element("h2", "How far to trust it")
    yield element("ul", *(element("li", sentence) for sentence in _trust_sentences(contents)))


def _trust_sentences(contents: ReportContents) -> Iterator[str]:
    mechanism = contents.manifest.mechanism_id
    ratio = ratio_to_optimum(contents.manifest.mechanism())
    if ratio is not None:
        yield f"{mechanism}: {describe_ratio(ratio)}."
    influence = contents.estimates.trust.influence
    if influence is not None:
        yield influence_sentence(influence, shares=bool(contents.estimates.estimates))
    yield (
        "Intervals speak of chance alone: who was asked, and the noise that every device adds to "
        "its answer. They are about the people the reporters stand for and know nothing of lies."
    )


def _footer(contents: ReportContents, now: float) -> Element:
    when = datetime.fromtimestamp(now, UTC)
    written_by: list[Child] = [
        f"Written {when:%Y-%m-%d %H:%M} UTC by deniable {version('deniable-aggregator')} "
        f"from {contents.estimates.collection}, version {contents.manifest.version}. "
        "This page loads nothing and runs nothing.",
    ]
    return element("footer", *written_by)


def _span(contents: ReportContents) -> list[Child]:
    epochs = contents.estimates.epochs
    first, last = _begins(contents.manifest, epochs[0]), _ends(contents.manifest, epochs[-1])
    begins, ends = (element("span", moment, class_="whole") for moment in (first, last))
    return [begins] if first == last else [begins, " to ", ends]


def _begins(manifest: Manifest, epoch: int) -> str:
    return _moment(manifest, epoch_start(epoch, manifest.epoch_seconds))


def _ends(manifest: Manifest, epoch: int) -> str:
    """The last day; of shorter epochs the end."""
    end = epoch_end(epoch, manifest.epoch_seconds)
    return _moment(manifest, end - 1 if manifest.epoch_seconds % 86_400 == 0 else end)


def _moment(manifest: Manifest, second: int) -> str:
    moment = datetime.fromtimestamp(second, UTC)
    whole = manifest.epoch_seconds % 86_400 == 0
    return f"{moment:%Y-%m-%d}" if whole else f"{moment:%Y-%m-%d %H:%M}"
