"""One release as it was made: what was drawn, how sure it is, what it cost and promises."""

from __future__ import annotations

from msgspec import UNSET

from deniable_aggregator.api.documents import Arguments
from deniable_aggregator.api.operations import service
from deniable_aggregator.api.releases import document_of
from deniable_aggregator.dashboard.about import collection_of
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.release_charts import (
    charts_of,
    expected_rows,
    facts_of,
    promised,
)
from deniable_aggregator.releases.archive import charge_named, result_named


def view(query: Arguments, collection: str, release_id: str) -> Context:
    """Of its document, which the API has under the same id; a charge without a result says so."""
    found = collection_of(collection)
    charged = charge_named(service().store, found, release_id)
    document = document_of(result_named(service().store, found, charged.release))
    return {
        "found": found,
        "manifest": found.manifest,
        "document": document,
        "n": None if document.n is UNSET else document.n,
        "facts": facts_of(document),
        "charts": charts_of(document),
        "bars": expected_rows(document.error_bars),
        "promised": list(promised(document)),
        "place": None if document.log is UNSET else document.log,
    }


PAGE = Page(path="/collections/<collection>/releases/<release_id>", title="Release", view=view)
