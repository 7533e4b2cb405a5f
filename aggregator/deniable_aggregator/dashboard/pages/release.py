"""One release as it was made: what was drawn, how sure it is, what it cost and promises.

A release that takes questions is asked here, too, by analysts, in the same act as the API's. That
is free, and the same question has the same answer, however often the form is sent.
"""

from __future__ import annotations

from flask import request
from msgspec import UNSET, convert

from deniable_aggregator.access import audit
from deniable_aggregator.access.guard import current_identity
from deniable_aggregator.api.documents import Arguments
from deniable_aggregator.api.operations import service
from deniable_aggregator.api.release_documents import AnswerDocument
from deniable_aggregator.api.releases import document_of
from deniable_aggregator.dashboard.about import collection_of, may
from deniable_aggregator.dashboard.page import Context, Page, Post
from deniable_aggregator.dashboard.release_charts import (
    charts_of,
    expected_rows,
    facts_of,
    promised,
)
from deniable_aggregator.problem import Problem
from deniable_aggregator.registry import Collection
from deniable_aggregator.releases.archive import charge_named, result_named

MOST_TICKS = 40
"""Labels that are ticked; of more, those that are asked for are written down."""


def view(query: Arguments, collection: str, release_id: str) -> Context:
    """Of its document, which the API has under the same id; a charge without a result says so."""
    return _shown(collection_of(collection), release_id)


def act(collection: str, release_id: str) -> Context:
    """Ask the session that the release opened; what is refused is said on the page."""
    found = collection_of(collection)
    asked = _labels()
    try:
        with audit.acting(
            "question-asked",
            actor=str(current_identity()),
            at=service().clock(),
            collection=collection,
            release_id=release_id,
        ):
            told = service().releases.sessions.ask(found, release_id, {"labels": asked})
    except Problem as problem:
        return {
            **_shown(found, release_id),
            "asked": asked,
            "refused": problem,
            "status": problem.status,
        }
    answer = convert(told, AnswerDocument)
    return {
        **_shown(found, release_id),
        "asked": asked,
        "answer": facts_of(answer),
        "answer_bars": expected_rows(answer.error_bars),
    }


def _labels() -> list[str]:
    """Those ticked, or one a line."""
    written = request.form.get("labels", "").splitlines()
    return [label for label in (*request.form.getlist("label"), *written) if label]


def _shown(found: Collection, release_id: str) -> Context:
    charged = charge_named(service().store, found, release_id)
    document = document_of(result_named(service().store, found, charged.release))
    labels = document.result.get("labels", []) if document.questions is True else []
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
        "asks": document.questions is True and may("analyst"),
        "labels": labels if len(labels) <= MOST_TICKS else [],
        "asked": [],
        "answer": None,
        "answer_bars": [],
        "refused": None,
    }


PAGE = Page(
    path="/collections/<collection>/releases/<release_id>",
    title="Release",
    view=view,
    post=Post("analyst", act),
)
