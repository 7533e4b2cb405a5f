"""A study: questions put to people whose true answers are known, to judge the estimates by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from secrets import SystemRandom

from deniable_aggregator.base.errors import AggregatorError

Answers = Mapping[str, object]
"""One person's answers: the question's name → {label: bool} for bits, a label for a choice."""

DAYS_OPEN = 30


class StudyError(AggregatorError, ValueError):
    """Data that cannot be turned into questions, or a number of people that cannot be drawn."""


@dataclass(frozen=True, slots=True)
class StudyCollection:
    """One collection of a study; `epsilon` is of the whole answer, as the manifest writes it."""

    name: str
    type: str
    labels: tuple[str, ...]
    epsilon: str

    def toml(self, now: float) -> str:
        """The collection as a person would write it, open from yesterday for a month."""
        today = datetime.fromtimestamp(now, UTC).date()
        fields = {
            "name": _text(self.name),
            "purpose": _text("Compare estimates with a known truth on one machine"),
            "owner": _text("simulation"),
            "epsilon": _text(self.epsilon),
            "repeat": _text("once"),
            "read": _text("live"),
            "epoch": _text("1d"),
            "valid_from": str(today - timedelta(days=1)),
            "expires": str(today + timedelta(days=DAYS_OPEN)),
            "min_batch": "1",
        }
        lines = [f"{name} = {value}" for name, value in fields.items()]
        labels = ", ".join(map(_text, self.labels))
        return "\n".join(
            [*lines, "[domain]", f"type = {_text(self.type)}", f"labels = [{labels}]\n"]
        )

    def truth(self, people: Sequence[Answers]) -> list[float]:
        """The share of these people that each label is true of, in the order of the labels."""
        if not people:
            raise StudyError("people must hold at least one person, got none")
        counts: Counter[str] = Counter()
        for person in people:
            counts.update(self._true_labels(person[self.name]))
        return [counts[label] / len(people) for label in self.labels]

    def _true_labels(self, answer: object) -> list[str]:
        if isinstance(answer, Mapping):
            return [label for label, is_true in answer.items() if is_true]
        return [str(answer)]


@dataclass(frozen=True, slots=True)
class Study:
    """Collections, and the people who answer each of them."""

    collections: tuple[StudyCollection, ...]
    people: tuple[Answers, ...]

    def __post_init__(self) -> None:
        if not self.collections or not self.people:
            raise StudyError("a study needs at least one question and one person")


def draw_people(people: Sequence[Answers], users: int) -> tuple[Answers, ...]:
    """`users` people: everybody once a round, and a random part of everybody for the rest."""
    if users < 1:
        raise StudyError(f"users must be at least 1, got {users}")
    rounds, rest = divmod(users, len(people))
    return (*(tuple(people) * rounds), *SystemRandom().sample(people, rest))


def _text(value: str) -> str:
    """A TOML basic string: for printable text JSON's quoting is the same."""
    return json.dumps(value, ensure_ascii=False)
