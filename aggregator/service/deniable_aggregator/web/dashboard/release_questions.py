"""Releases as questions that people have, and which of them a collection can answer.

A question is a kind of release with some arguments fixed. All kinds with all arguments are behind
OTHER.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_aggregator.documents.describe import request_text
from deniable_aggregator.releases.kinds.message_spaces import estimand_of
from deniable_aggregator.releases.kinds.tally_spaces import check_releasable
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.releases import ReleaseSummary
    from deniable_shared.domains import Domain

OTHER = "other"
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class ReleaseQuestion:
    """What is asked: the kind of release behind it, its fixed arguments, and those to fill in.

    `estimands`: what reports must be about, one of these (`kinds.estimand_of`).
    """

    name: str
    title: str
    help: str
    mechanism: str
    fixed: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    domains: tuple[str, ...] = ("bits", "choice", "number", "record")
    estimands: tuple[str, ...] = ("labels",)


QUESTIONS = (
    ReleaseQuestion(
        "shares", "Share of each answer", "Every answer with its interval.", "histogram"
    ),
    ReleaseQuestion(
        "top",
        "The most common answer",
        "The answer alone, without numbers: this needs less budget.",
        "exponential",
        {"score": "mode"},
    ),
    ReleaseQuestion(
        "top-k",
        "The k most common answers",
        "In their order, without numbers.",
        "top-k",
        {},
        ("k",),
    ),
    ReleaseQuestion(
        "average",
        "The average",
        "And the sum of all answers, with intervals.",
        "mean",
        domains=("number",),
        estimands=("labels", "mean", "distribution"),
    ),
    ReleaseQuestion(
        "ranges",
        "The share between two numbers",
        "For one range, for several, or for equal parts.",
        "shares",
        {},
        ("ranges",),
        ("number",),
        ("labels", "distribution"),
    ),
    ReleaseQuestion(
        "median",
        "The median",
        "Or another quantile: 90 % of people are at or below the quantile 0.9.",
        "exponential",
        {"score": "quantile"},
        ("quantile",),
        ("number",),
        ("labels", "distribution"),
    ),
    ReleaseQuestion(
        "table",
        "How attributes go together",
        "The share of every combination of their labels.",
        "table",
        {"cell": "all"},
        ("attributes",),
        ("record",),
        ("labels", "tables"),
    ),
    ReleaseQuestion(
        "cell",
        "One combination of labels",
        "Its share alone: this needs less budget than the whole table.",
        "table",
        {},
        ("attributes", "cell"),
        ("record",),
        ("labels", "tables"),
    ),
    ReleaseQuestion(
        "texts",
        "How often texts of a list occur",
        "Make the list without looking at these reports.",
        "texts",
        {},
        ("texts",),
        ("text",),
        ("texts",),
    ),
    ReleaseQuestion(
        "top-texts",
        "The k most common of a list",
        "In their order, without numbers.",
        "top-k",
        {},
        ("k", "texts"),
        ("text",),
        ("texts",),
    ),
    ReleaseQuestion(
        "price",
        "A price",
        "The price with the largest revenue, if answers are what people would pay.",
        "price",
        {},
        ("lowest", "highest", "ratio"),
        ("choice", "number"),
    ),
    ReleaseQuestion(
        "session",
        "Several questions later",
        "Pay once, then ask for the share of any group of answers, as often as you paid for.",
        "queries",
        {},
        ("questions",),
        ("choice", "number", "record"),
        ("labels", "tables"),
    ),
)

FIELD_LABELS = {
    "epsilon": "Privacy budget to spend (ε)",
    "k": "How many answers",
    "quantile": "Quantile",
    "questions": "How many questions",
    "lowest": "Lowest price",
    "highest": "Highest price",
    "ratio": "Ratio of neighbouring prices",
    "ranges": "Ranges",
    "attributes": "Attributes",
    "cell": "Combination",
    "texts": "List of texts",
}


def questions_of(collection: Collection) -> list[ReleaseQuestion]:
    """Those that fit its answers and its mechanism."""
    domain, estimand = collection.manifest.domain, estimand_of(collection.mechanism)
    return [
        question
        for question in QUESTIONS
        if domain.type in question.domains
        and estimand in question.estimands
        and (question.name != "price" or _are_prices(domain))
    ]


def _are_prices(domain: Domain) -> bool:
    return domain.type == "number" or all(_DECIMAL.fullmatch(label) for label in domain.labels)


def unavailable(collection: Collection) -> str:
    """Why there are no releases of a collection at all; empty where there are."""
    try:
        check_releasable(collection.mechanism)
    except ParameterError as error:
        return str(error)
    return ""


def release_title(release: ReleaseSummary) -> str:
    """What a release was asked, in words; of other kinds the kind and its arguments."""
    arguments = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in release.parameters.items()
    }
    question = question_named(question_for(release.mechanism, arguments))
    if question is None:
        return request_text(release)
    if question.mechanism == "top-k":
        return question.title.replace("The k", f"The {arguments['k']}")
    more = [
        f"{arguments[name]} questions" if name == "questions" else f"{name} {arguments[name]}"
        for name in question.arguments
        if name in arguments
    ]
    return ", ".join([question.title, *more])


def question_named(name: str) -> ReleaseQuestion | None:
    """The question of that name; None of OTHER, and of one there is not."""
    return next((question for question in QUESTIONS if question.name == name), None)


def question_for(mechanism: str, arguments: Mapping[str, str]) -> str:
    """The name of the question that a request answers; OTHER where none does."""
    for question in QUESTIONS:
        allowed = {"epsilon", *question.arguments, *question.fixed}
        fits = all(arguments.get(name) == value for name, value in question.fixed.items())
        if question.mechanism == mechanism and fits and arguments.keys() <= allowed:
            return question.name
    return OTHER
