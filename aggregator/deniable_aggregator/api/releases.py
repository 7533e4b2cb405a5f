"""Central releases: what one would cost, making it, reading it again, asking an open session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.api.operations import operation
from deniable_aggregator.api.spans import span_of
from deniable_aggregator.documents.releases import (
    AnswerDocument,
    LogPlaceDocument,
    NewRelease,
    Question,
    QuoteDocument,
    ReleaseArguments,
    ReleaseDocument,
    ReleasesDocument,
    ReleaseSummary,
)
from deniable_aggregator.problem import Problem, refuse
from deniable_aggregator.queries.releases import listed, result_named
from deniable_aggregator.registry import Collection
from deniable_aggregator.releases import Request, Selection, Shown
from deniable_aggregator.store.contract import ResultRow
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.arguments import Open
from deniable_aggregator.web.formats import answered, tables
from deniable_aggregator.web.lists import RELEASE_COLUMNS, listed_releases

blueprint = Blueprint("releases", __name__)

MAX_QUESTION_BYTES = 1 << 20
"""A question may name a number for each of 65,536 labels."""


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
def release(collection: str, query: ReleaseArguments, body: Open[NewRelease]) -> Response:
    """Draw from closed epochs under the collection's budget; every epoch read is charged.

    With `cost` true nothing is drawn or charged: the answer is the price, the expected error and
    what is left. The same request again (200, not 201) is answered with the stored release, free.
    The charge is committed before the draw; what fails behind it is free the next time.
    """
    found = service().registry.get(collection)
    wanted = Request(body.known.mechanism, body.further, _selection(found, body.known))
    if query.cost or body.known.cost:
        return answer(quoted(found, wanted))
    shown = made(found, wanted)
    return answer(document_of(shown.row), 201 if shown.new else 200)


def quoted(found: Collection, wanted: Request) -> QuoteDocument:
    """What a release would cost, also for pages; raises what the address refuses."""
    return msgspec.convert(service().releases.quote(found, wanted), QuoteDocument)


def made(found: Collection, wanted: Request) -> Shown:
    """The release, charged and drawn unless it was before, also for pages; it is counted."""
    with _counted() as outcome:
        shown = service().releases.release(found, wanted)
        outcome.append("made" if shown.new else "repeated")
    return shown


@blueprint.get("/v1/collections/<collection>/releases")
@operation(
    tag="analysts",
    role="viewer",
    answers=tables(ReleasesDocument),
    problems=("unknown-collection", "not-acceptable"),
)
def releases(collection: str) -> Response:
    """Every release that was charged, oldest first, without its result."""
    found = service().registry.get(collection)
    document = ReleasesDocument(found.id, summaries_of(found))
    return answered(document, lambda: listed_releases(document.releases), RELEASE_COLUMNS)


def summaries_of(found: Collection) -> list[ReleaseSummary]:
    """Oldest first, also for pages."""
    return msgspec.convert(listed(service().store, found), list[ReleaseSummary])


@blueprint.get("/v1/collections/<collection>/releases/<release_id>")
@operation(
    tag="analysts",
    role="viewer",
    answers={200: {JSON: (ReleaseDocument,)}},
    problems=("unknown-collection", "not-found"),
)
def stored_release(collection: str, release_id: str) -> Response:
    """A release as it was made. Reading it is free."""
    found = service().registry.get(collection)
    return answer(document_of(result_named(service().store, found, release_id)))


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
def ask(collection: str, release_id: str, body: Open[Question]) -> Response:
    """Ask the session that a release opened. It was paid for: questions are free.

    The same question has the same answer. The body is at most 1 MiB.
    """
    found = service().registry.get(collection)
    answered = service().releases.sessions.ask(found, release_id, body.further)
    return answer(msgspec.convert(answered, AnswerDocument))


@contextmanager
def _counted() -> Iterator[list[str]]:
    """Count the outcome that the block appends, or the slug of the problem it raises."""
    outcome: list[str] = []
    try:
        yield outcome
    except Problem as problem:
        outcome.append(problem.slug)
        raise
    finally:
        for each in outcome or ["internal"]:
            service().metrics.releases.labels(each).inc()


def _selection(collection: Collection, asked: NewRelease) -> Selection:
    first, last = _text(asked.first), _text(asked.last)
    if not isinstance(asked.epochs, UnsetType):
        if not (isinstance(first, UnsetType) and isinstance(last, UnsetType)):
            raise refuse("epochs", accepted="given without from and to", given=asked.epochs)
        return Selection(listed=tuple(asked.epochs))
    span = span_of(first, last, collection.manifest.epoch_seconds)
    return Selection(span, bounded=not isinstance(last, UnsetType))


def _text(bound: str | int | UnsetType) -> str | UnsetType:
    return str(bound) if isinstance(bound, int) else bound


def document_of(row: ResultRow) -> ReleaseDocument:
    """As it was made, and where the log has it."""
    kept = msgspec.json.decode(row.document, type=ReleaseDocument)
    place = LogPlaceDocument((row.position or 1) - 1, row.salt.hex())
    return msgspec.structs.replace(kept, log=place)
