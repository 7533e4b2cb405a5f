"""The list of questions: which are listed, in which order, and what a line of it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.dashboard.headlines import Headline, headline_of
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import EpochRow
    from deniable_aggregator.web.dashboard.activity import Activity

State = Literal["current", "open", "closed", "archived", "public", "all"]
Sort = Literal["name", "newest", "reports", "ends", "owner"]


class CatalogueArguments(Arguments, frozen=True):
    """What to list, and in which order."""

    q: Annotated[str, Meta(max_length=200, description="up to 200 characters")] = ""
    state: Annotated[State, Meta(description="current, open, closed, archived, public or all")] = (
        "current"
    )
    sort: Annotated[Sort, Meta(description="name, newest, reports, ends or owner")] = "name"
    page: PageNumber = 1


STATES: Mapping[State, str] = {
    "current": "not archived",
    "open": "open",
    "closed": "closed",
    "archived": "archived",
    "public": "public",
    "all": "all",
}
SORTS: Mapping[Sort, str] = {
    "name": "name",
    "newest": "newest first",
    "reports": "most reports",
    "ends": "ends first",
    "owner": "owner",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One collection, the epochs that the store has of it, and what came in.

    `activity` is None for those who may not read.
    """

    collection: Collection
    epochs: Sequence[EpochRow] = ()
    activity: Activity | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What the list says of one collection."""

    collection: Collection
    epsilon: str
    answers: str
    activity: Activity | None
    headline: Headline | None


_STATE_TESTS: Mapping[State, Callable[[Collection], bool]] = {
    "current": lambda collection: not collection.archived,
    "open": lambda collection: collection.state == "open" and not collection.archived,
    "closed": lambda collection: collection.state != "open" and not collection.archived,
    "archived": lambda collection: collection.archived,
    "public": lambda collection: collection.manifest.public and not collection.archived,
    "all": lambda _: True,
}

_ORDERS: Mapping[Sort, Callable[[Entry], object]] = {
    "name": lambda _: 0,
    "newest": lambda entry: -entry.collection.first.valid_from.toordinal(),
    "reports": lambda entry: -_reports(entry),
    "ends": lambda entry: entry.collection.manifest.expires,
    "owner": lambda entry: entry.collection.manifest.owner.casefold(),
}


def listed(entries: Sequence[Entry], query: CatalogueArguments) -> list[Entry]:
    """Those that fit the words and the state, in order; equal ones by name."""
    words = query.q.casefold().split()
    fits = _STATE_TESTS[query.state]
    matching = [
        entry
        for entry in entries
        if fits(entry.collection) and all(word in _search_text(entry) for word in words)
    ]
    by_name = sorted(matching, key=lambda entry: entry.collection.name.casefold())
    return sorted(by_name, key=_ORDERS[query.sort])  # type: ignore[arg-type]  # keys of one order have one type


def line_of(entry: Entry) -> Line:
    """With the answer, for those who may read it."""
    collection = entry.collection
    return Line(
        collection=collection,
        epsilon=format_epsilon(collection.manifest.epsilon_report),
        answers=_answer_kind(collection),
        activity=entry.activity,
        headline=headline_of(collection, entry.epochs) if entry.activity else None,
    )


def _reports(entry: Entry) -> int:
    return (entry.activity.reports or 0) if entry.activity else 0


def _search_text(entry: Entry) -> str:
    newest = entry.collection.manifest
    return f"{entry.collection.id} {newest.name} {newest.purpose} {newest.owner}".casefold()


def _answer_kind(collection: Collection) -> str:
    domain = collection.manifest.domain
    document = domain.to_json()
    descriptions = {
        "bits": f"{domain.size:,} yes or no",
        "choice": f"one of {domain.size:,}",
        "number": f"a number, {document.get('low')} to {document.get('high')}",
        "record": f"one of {domain.size:,} combinations",
        "text": f"a text of up to {document.get('max_bytes')} bytes",
    }
    return descriptions[domain.type]
