"""Releases of every question that the visitor may see, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.queries.releases import releases
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import visible_collections, visitor_may
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import PageNumber, paginate
from deniable_aggregator.web.dashboard.release_questions import release_title, unavailable

if TYPE_CHECKING:
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import ReleaseSummary

ROWS = 25
MOST_OFFERED = 12


class ReleasedArguments(Arguments, frozen=True):
    """Which part of the list."""

    page: PageNumber = 1


@dataclass(frozen=True, slots=True)
class MadeRelease:
    """A release, its question, and what was asked in words."""

    collection: Collection
    release: ReleaseSummary
    title: str


def view(query: ReleasedArguments) -> Context:
    """What was released, and which questions have a budget for more."""
    visible = visible_collections()
    rows = [
        MadeRelease(collection, each, release_title(each))
        for collection in visible
        for each in releases(service().store, collection).releases
    ]
    rows.sort(key=lambda row: row.release.created, reverse=True)
    offered = [collection for collection in visible if _has_budget(collection)]
    return {
        "part": paginate(rows, query.page, ROWS),
        "asks": visitor_may("analyst"),
        "offered": offered[:MOST_OFFERED],
        "more": max(len(offered) - MOST_OFFERED, 0),
        "address": here("dashboard.released", query),
    }


def _has_budget(collection: Collection) -> bool:
    """Whether a release of it can be made at all; one that is archived is not offered."""
    budget = collection.manifest.central_per_epoch
    return budget > 0 and not collection.archived and not unavailable(collection)


PAGE = Page(path="/releases", title="Releases", view=view, query=ReleasedArguments, menu=20)
