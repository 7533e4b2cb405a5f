"""The form of the page of releases, a kind, its arguments and epochs, and the request it makes.

The fields of arguments are those that `releases.kinds.parameters` lists, so a new family brings
its own. What is confirmed names the very epochs that were priced: the same form sent twice is the
same request. It is charged once, even if another epoch closed in between.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field, structs

from deniable_aggregator.documents.describe import epochs_words
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters
from deniable_aggregator.releases.request import EpochSelection, ReleaseRequest
from deniable_aggregator.web.dashboard.day_fields import DayText
from deniable_aggregator.web.dashboard.paging import PageNumber
from deniable_aggregator.web.dashboard.release_questions import (
    FIELD_LABELS,
    OTHER,
    ReleaseQuestion,
    question_for,
    question_named,
)
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.releases.kinds.contract import Parameter

USUAL = "histogram"
MOST_EPOCHS = 1_000
_LONGEST = 1 << 16
_WITH_ARGUMENT = re.compile(r"^with \w+(?: \w+)?: ")


class ReleasesArguments(Arguments, frozen=True):
    """A release to price or to make, with the arguments of all kinds."""

    question: Annotated[
        str, Meta(pattern="^[a-z-]{0,20}$", description="the name of a question of the form")
    ] = ""
    mechanism: Annotated[
        str, Meta(max_length=64, description=f"one of {', '.join(sorted(RELEASE_KINDS))}")
    ] = USUAL
    first: DayText | UnsetType = field(default=UNSET, name="from")
    last: DayText | UnsetType = field(default=UNSET, name="to")
    epochs: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,10}( to [0-9]{1,10})?(, [0-9]{1,10}( to [0-9]{1,10})?)*$",
            max_length=32_000,
            description="the periods of the price, like 20001 to 20007, 20010",
        ),
    ] = ""
    cost: Annotated[bool, Meta(description="true or false")] = False
    page: PageNumber = 1


def _extended_arguments() -> type[ReleasesArguments]:
    """One more field for each argument that some family takes."""
    names = sorted({each.name for family in RELEASE_KINDS for each in parameters(family)})
    text = Annotated[str, Meta(max_length=_LONGEST, description="as the family takes it")]
    extended: Any = msgspec.defstruct(
        "ReleasesQuery",
        [(name, text, "") for name in names],
        bases=(ReleasesArguments,),
        frozen=True,
    )
    checked: type[ReleasesArguments] = extended
    return checked


ReleasesQuery = _extended_arguments()
"""What an address of the page may say."""


@dataclass(frozen=True, slots=True)
class KindOption:
    """A kind of release, in a sentence."""

    name: str
    does: str


def kind_options() -> list[KindOption]:
    """All of them; what each does is the first sentence of its module."""
    kinds = []
    for name, family in RELEASE_KINDS.items():
        said = (getattr(family, "__doc__", None) or "").partition("\n")[0].partition(": ")[2]
        kinds.append(KindOption(name, said))
    return kinds


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form: how it is called, what it takes, what it has, and what is wrong."""

    name: str
    label: str
    accepted: str
    value: str
    default: str | None
    wrong: str = ""


def resolve_question(
    query: ReleasesArguments, offered: Sequence[ReleaseQuestion]
) -> ReleasesArguments:
    """The query with the name of its question, and with what that question fixes."""
    chosen = query.question or question_for(query.mechanism, filled_arguments(query))
    question = question_named(chosen)
    if question is None:
        return structs.replace(query, question=OTHER)
    if query.question == "" and question not in offered and offered:
        question = question if filled_arguments(query) else offered[0]
    changes = {"question": question.name, "mechanism": question.mechanism, **question.fixed}
    others = {
        each.name: ""
        for each in parameters_of(question.mechanism)
        if each.name not in {"epsilon", *question.arguments, *question.fixed}
    }
    return structs.replace(query, **changes, **others)


def form_fields(
    query: ReleasesArguments, *, suggested: str, wrong: Mapping[str, str]
) -> list[FormField]:
    """The fields of the question, or all of a kind of release; ε last, with what is suggested."""
    question = question_named(query.question)
    wanted = None if question is None else {"epsilon", *question.arguments}
    filled = {"epsilon": suggested, **filled_arguments(query)}
    fields = [
        FormField(
            each.name,
            FIELD_LABELS.get(each.name, each.name.capitalize()),
            _help(each.accepted, fixed=question is not None),
            filled.get(each.name, ""),
            each.default,
            wrong.get(each.name, ""),
        )
        for each in parameters_of(query.mechanism)
        if wanted is None or each.name in wanted
    ]
    return sorted(fields, key=lambda each: each.name == "epsilon")


def _help(accepted: str, *, fixed: bool) -> str:
    """What a field takes. A question fixes the argument that decides whether the field counts."""
    words = _WITH_ARGUMENT.sub("", accepted) if fixed else accepted
    return words.replace("a decimal text like", "a number like")


def field_refusal(problem: Problem, names: Iterable[str]) -> dict[str, str]:
    """What a refusal says of a field of the form; empty where it is about none of them."""
    name, _, rest = problem.detail.partition(" ")
    if problem.slug != "invalid-argument" or name not in names:
        return {}
    return {name: rest[:1].upper() + rest[1:].replace("a decimal text like", "a number like")}


def parameters_of(mechanism: str) -> Sequence[Parameter]:
    """The arguments of a family; none of one there is not."""
    return parameters(mechanism) if mechanism in RELEASE_KINDS else ()


def filled_arguments(query: ReleasesArguments) -> Mapping[str, str]:
    """The arguments of its family that were filled in, as texts."""
    arguments = {
        each.name: getattr(query, each.name, "") for each in parameters_of(query.mechanism)
    }
    return {name: text for name, text in arguments.items() if text}


def quote_request(collection: Collection, query: ReleasesArguments) -> ReleaseRequest:
    """The request whose price is asked for: every closed epoch unless days are chosen."""
    span = epoch_range(query.first, query.last, collection.manifest.epoch_seconds)
    bounded = not isinstance(query.last, UnsetType)
    return ReleaseRequest(query.mechanism, _arguments(query), EpochSelection(span, bounded=bounded))


def release_request(query: ReleasesArguments) -> ReleaseRequest:
    """The request that was priced; invalid-argument where it does not name its epochs."""
    if not query.epochs:
        raise refuse("epochs", accepted="those of the price: see the price first", given="none")
    listed = tuple(_parse_epochs(query.epochs))
    return ReleaseRequest(query.mechanism, _arguments(query), EpochSelection(listed=listed))


def hidden_fields(query: ReleasesArguments, epochs: Sequence[int]) -> dict[str, str]:
    """What the form carries that confirms."""
    return {
        "mechanism": query.mechanism,
        **filled_arguments(query),
        "epochs": epochs_words(list(epochs)),
    }


def _arguments(query: ReleasesArguments) -> dict[str, object]:
    return {name: _value(name, text) for name, text in filled_arguments(query).items()}


def _value(name: str, text: str) -> object:
    """The text itself, or the list that it is in JSON."""
    if not text.startswith("["):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise Problem(
            "invalid-argument",
            f"{name} must be a text or a JSON list, got {text[:80]!r}",
            argument=name,
            accepted="a text or a JSON list",
            given=text[:80],
        ) from error


def _parse_epochs(text: str) -> list[int]:
    epochs_read: list[int] = []
    for run in text.split(", "):
        first, _, last = run.partition(" to ")
        epochs = range(int(first), int(last or first) + 1)
        if len(epochs_read) + len(epochs) > MOST_EPOCHS:
            raise refuse("epochs", accepted=f"at most {MOST_EPOCHS:,} of them", given="more")
        epochs_read += epochs
    return epochs_read
