"""A question to a session that a release opened: what its page asks, and how the answer is said.

The same function and the same entry of the audit log as the API's. A question is free, and the same
one has the same answer for ever, so that sending the form again changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.releases.kinds.message_spaces import estimand_of
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard.formatting import chance, digits_for, plural, share
from deniable_gateway.problem import Problem
from deniable_shared.domains import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import AnswerDocument

_PAIR = 2
MOST_BOXES = 60
"""Labels that have a box each; of more the form takes lines of text."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer in words; `lower` and all after are empty where no error bar holds any more."""

    labels: Sequence[str]
    share: str
    value: float
    measured: bool
    lower: str
    upper: str
    sure: str


def questions_left_text(collection: Collection, release: str) -> str:
    """How many new questions a session still answers, or why none, as a sentence."""
    try:
        left = service().releases.sessions.left(collection, release)
    except Problem as problem:
        return f"{problem.detail[:1].upper()}{problem.detail[1:]}."
    if not left:
        return "No new questions are left. The session still answers earlier questions."
    return f"{plural(left, 'new question')} left."


def chosen_labels(ticked: Sequence[str], written: str) -> list[str]:
    """Boxes that are ticked, then lines that are written."""
    lines = (line.strip() for line in written.splitlines())
    return [*ticked, *(line for line in lines if line)]


def label_boxes(collection: Collection) -> Sequence[str]:
    """The labels that have a box; of a record none if reports say nothing about all attributes."""
    domain = collection.manifest.domain
    if domain.size > MOST_BOXES:
        return ()
    apart = estimand_of(collection.mechanism) == "tables" and len(domain.topics) > _PAIR
    return () if apart else domain.labels


def ask_session(collection: Collection, release: str, labels: Sequence[str]) -> AnswerDocument:
    """Ask the session; raises what the API's address refuses."""
    if not labels:
        raise Problem("invalid-argument", "labels must be one label or more: choose some")
    member = "cells" if isinstance(collection.manifest.domain, Record) else "labels"
    entry = AuditEntry.of(
        "question-asked",
        actor=str(current_identity()),
        at=service().clock(),
        collection=collection.id,
        release_id=release,
    )
    return service().releases.sessions.ask(collection, release, {member: list(labels)}, audit=entry)


def answer_text(answer: AnswerDocument) -> AnswerText:
    """With as many digits as its interval is sure of."""
    result = answer.result
    lower, upper = result["lower"], result["upper"]
    bounded = lower is not None and upper is not None
    digits = digits_for([100 * (upper - lower)] if bounded else [])
    return AnswerText(
        labels=result.get("labels") or result["cells"],
        share=share(result["share"], digits),
        value=result["share"],
        lower=share(lower, digits) if bounded else "",
        upper=share(upper, digits) if bounded else "",
        measured=result["measured"],
        sure=chance(answer.error_bars[0].confidence) if bounded else "",
    )
