"""Central releases: show the price, make one, read it again, ask an open session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.documents.releases import (
    AnswerDocument,
    NewRelease,
    Question,
    QuoteDocument,
    ReleaseArguments,
    ReleaseDocument,
    ReleasesDocument,
)
from deniable_aggregator.queries import releases as queries
from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.releases.request import EpochSelection, ReleaseRequest
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.formats import negotiated_answer, tables
from deniable_aggregator.web.table_rows import RELEASE_COLUMNS, release_rows
from deniable_gateway.problem import refuse

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.web.arguments import OpenBody

blueprint = Blueprint("releases", __name__)

MAX_QUESTION_BYTES = 1 << 20
"""Bytes of the longest question: it may have a number for each of 65,536 labels."""


@blueprint.post("/v1/collections/<collection>/releases")
@operation(
    act="release-asked",
    tag="analysts",
    role="analyst",
    query=ReleaseArguments,
    body=NewRelease,
    answers={200: {JSON: (ReleaseDocument, QuoteDocument)}, 201: {JSON: (ReleaseDocument,)}},
    problems=(
        "unknown-collection",
        "too-few-reports",
        "epoch-open",
        "budget-exhausted",
        "ledger-behind",
        "release-failed",
        "unavailable",
    ),
)
def release(
    collection: str, query: ReleaseArguments, body: OpenBody[NewRelease], audit: AuditEntry
) -> Response:
    """Make a central release of closed epochs; it is charged to every epoch that it reads.

    With `cost` true nothing is drawn or charged: the answer has the price, the expected error and
    the remaining budget. The same request again returns the stored release (200, not 201), free.
    The charge is committed before the draw. If the draw then fails, the next try is free.
    """
    target = service().registry.get(collection)
    request = ReleaseRequest(
        body.declared.mechanism, body.undeclared, _selection(target, body.declared)
    )
    if query.cost or body.declared.cost:
        return answer(service().releases.quote(target, request))
    outcome = service().releases.release(target, request, audit=audit)
    return answer(queries.document_of(outcome.row), 201 if outcome.new else 200)


@blueprint.get("/v1/collections/<collection>/releases")
@operation(
    tag="analysts",
    role="viewer",
    answers=tables(ReleasesDocument),
    problems=("unknown-collection", "not-acceptable"),
)
def releases(collection: str) -> Response:
    """Every charged release, oldest first, without its result."""
    target = service().registry.get(collection)
    document = queries.releases(service().store, target)
    return negotiated_answer(document, lambda: release_rows(document.releases), RELEASE_COLUMNS)


@blueprint.get("/v1/collections/<collection>/releases/<release_id>")
@operation(
    tag="analysts",
    role="viewer",
    answers={200: {JSON: (ReleaseDocument,)}},
    problems=("unknown-collection", "not-found"),
)
def stored_release(collection: str, release_id: str) -> Response:
    """A release as it was made. This is free."""
    target = service().registry.get(collection)
    return answer(queries.release(service().store, target, release_id))


@blueprint.post("/v1/collections/<collection>/releases/<release_id>/questions")
@operation(
    act="question-asked",
    tag="analysts",
    role="analyst",
    body=Question,
    max_body=MAX_QUESTION_BYTES,
    answers={200: {JSON: (AnswerDocument,)}},
    problems=(
        "unknown-collection",
        "not-found",
        "conflict",
        "ledger-behind",
        "release-failed",
        "unavailable",
    ),
)
def ask(collection: str, release_id: str, body: OpenBody[Question], audit: AuditEntry) -> Response:
    """Ask the session that a release opened. Questions are free: the release paid for them.

    The same question gets the same answer. The body is at most 1 MiB.
    """
    target = service().registry.get(collection)
    return answer(service().releases.sessions.ask(target, release_id, body.undeclared, audit=audit))


def _selection(collection: Collection, body: NewRelease) -> EpochSelection:
    first, last = _text(body.first), _text(body.last)
    if not isinstance(body.epochs, UnsetType):
        if not (isinstance(first, UnsetType) and isinstance(last, UnsetType)):
            raise refuse("epochs", accepted="given without from and to", given=body.epochs)
        return EpochSelection(listed=tuple(body.epochs))
    span = epoch_range(first, last, collection.manifest.epoch_seconds)
    return EpochSelection(span, bounded=not isinstance(last, UnsetType))


def _text(bound: str | int | UnsetType) -> str | UnsetType:
    return str(bound) if isinstance(bound, int) else bound
