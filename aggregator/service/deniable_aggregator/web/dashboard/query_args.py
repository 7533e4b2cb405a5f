"""What the page of a collection is asked for, and what that means for the estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.fields import Arguments, Confidence
from deniable_aggregator.web.dashboard.addresses import Format
from deniable_aggregator.web.dashboard.day_fields import DayText
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_shared.domains import Record

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection

MOST_LINES = 5
ALL = "all"
"""The `table` of all combinations of a record."""

Show = Literal["raw", "projected", "significant"]


class CollectionArguments(Arguments, frozen=True):
    """A view of a collection; `show` is what suits the question unless it is given."""

    first: DayText | UnsetType = field(default=UNSET, name="from")
    last: DayText | UnsetType = field(default=UNSET, name="to")
    confidence: Confidence = 0.95
    show: Annotated[Show, Meta(description="raw, projected or significant")] | UnsetType = UNSET
    view: Annotated[Literal["chart", "table"], Meta(description="chart or table")] = "chart"
    sort: Annotated[
        Literal["share", "order"], Meta(description="share (largest first) or order (as asked)")
    ] = "share"
    q: Annotated[str, Meta(max_length=200, description="up to 200 characters")] = ""
    rows: Annotated[Literal["top", "all"], Meta(description="top or all")] = "top"
    page: PageNumber = 1
    label: Annotated[
        list[str],
        Meta(max_length=MOST_LINES, description="up to 5 labels to follow, once for each"),
    ] = field(default_factory=list)
    table: Annotated[
        str,
        Meta(max_length=1000, description="names of attributes of a record, with commas, or all"),
    ] = ""
    candidate: Annotated[
        str, Meta(max_length=2000, description="texts that an answer may be, with commas")
    ] = ""
    by: Annotated[Literal["epoch"], Meta(description="epoch: csv and json of each")] | UnsetType = (
        UNSET
    )
    format: Format = "html"


def estimates_arguments(collection: Collection, query: CollectionArguments) -> EstimatesArguments:
    """The same question as one puts it to the API."""
    show = default_show(collection) if isinstance(query.show, UnsetType) else query.show
    return EstimatesArguments(
        first=query.first,
        last=query.last,
        confidence=query.confidence,
        projection=_projection(collection) if show == "projected" else "none",
        significant="holm" if show == "significant" and can_test(collection) else UNSET,
        marginal=_marginal(collection, query.table),
        candidate=[text.strip() for text in query.candidate.split(",") if text.strip()],
    )


def default_show(collection: Collection) -> Show:
    """Single labels of a distribution say little as they are."""
    return "projected" if collection.estimator.estimand == "distribution" else "raw"


def can_test(collection: Collection) -> bool:
    """Whether each label has a test of its own."""
    return collection.estimator.estimand == "labels" and collection.manifest.domain.type in (
        "bits",
        "choice",
    )


def _projection(collection: Collection) -> Literal["simplex", "clip"]:
    tables = isinstance(collection.manifest.domain, Record)
    return "simplex" if tables or collection.estimator.default_projection == "simplex" else "clip"


def _marginal(collection: Collection, table: str) -> list[str]:
    """Of a record the first two attributes against each other, if nothing else is wanted.

    All combinations where no table is available.
    """
    domain = collection.manifest.domain
    if not isinstance(domain, Record):
        return [table] if table else []
    usual = ALL if collection.mechanism.structure is None else ""
    if (table or usual) == ALL and collection.estimator.estimand != "tables":
        return []
    return [_usual_table(domain) if table in ("", ALL) else table]


def _usual_table(domain: Record) -> str:
    """The first two attributes; a comma in a name leaves one."""
    first, second = domain.topics[:2]
    return first if "," in first + second else f"{first},{second}"
