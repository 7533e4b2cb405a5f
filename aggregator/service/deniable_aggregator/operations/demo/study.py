"""A study: questions to people whose true answers are known, epoch by epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from secrets import SystemRandom
from typing import Protocol, TypeVar

from deniable_aggregator.base.errors import AggregatorError
from deniable_shared.manifest.epochs import epoch_at, epoch_start

Answers = Mapping[str, object]
"""One person's answers, by the name of the question, as `Client.record` takes them."""

T = TypeVar("T")

DAY_SECONDS = 86_400
PAST_DAYS = 30
DAYS_LEFT = 30
PREFIX = "simulated-"
"""Every name and id begins with it, so that each document of a demo is recognizable."""


class StudyError(AggregatorError, ValueError):
    """Data that cannot be turned into questions, or a number of people that cannot be drawn."""


class ProgressWatcher(Protocol):
    """Gets the progress of a demo."""

    def stage(self, what: str) -> None: ...
    def people(self, done: int, total: int) -> None: ...


class NoProgress:
    """A watcher that shows nothing."""

    def stage(self, what: str) -> None:
        """Nothing."""

    def people(self, done: int, total: int) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, the answers that people have, and how many had each in every past epoch.

    `domain` is the table of the TOML. `past` begins with the oldest epoch; the one that is current
    now is not in it. `release` and `session` name the mechanisms of a finished release and of an
    open session over it. Anyone may read a `public` question.
    """

    name: str
    purpose: str
    domain: Mapping[str, object]
    epsilon: str
    answers: tuple[object, ...]
    past: tuple[tuple[int, ...], ...]
    epoch_days: int = 1
    release: str = ""
    session: str = ""
    public: bool = False

    @property
    def epoch_seconds(self) -> int:
        """Length of an epoch in seconds."""
        return self.epoch_days * DAY_SECONDS

    def toml(self, now: float) -> str:
        """The collection as a person would write it, open since before the first past epoch."""
        first = epoch_start(self.past_epochs(now)[0], self.epoch_seconds)
        fields = {
            "name": self.name,
            "purpose": self.purpose,
            "owner": "deniable demo: simulated people",
            "epsilon": self.epsilon,
            "repeat": "once",
            "read": "live",
            "epoch": f"{self.epoch_days}d",
            "grace": "1h",
            "valid_from": _day(first),
            "expires": _day(now + DAYS_LEFT * DAY_SECONDS),
            "min_batch": 1,
            "public": self.public,
            "domain": self.domain,
            "central": {"per_epoch": "1.5", "per_installation": "3"},
        }
        return "".join(f"{name} = {_written(value)}\n" for name, value in fields.items())

    def past_epochs(self, now: float) -> range:
        """The numbers of the past epochs, the oldest first."""
        current = epoch_at(now, self.epoch_seconds)
        return range(current - len(self.past), current)


@dataclass(frozen=True, slots=True)
class Study:
    """Questions, and the people who answer today: the index of each person's answers."""

    questions: tuple[Question, ...]
    people: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.questions or not self.people:
            raise StudyError("a study needs at least one question and one person")

    def answers(self) -> list[Answers]:
        """The answers of each person today."""
        return [
            {
                question.name: question.answers[place]
                for question, place in zip(self.questions, places, strict=True)
            }
            for places in self.people
        ]

    def today(self, question: Question) -> tuple[int, ...]:
        """The number of people with each answer today."""
        column = self.questions.index(question)
        places = [person[column] for person in self.people]
        return tuple(places.count(place) for place in range(len(question.answers)))


def draw_people(people: Sequence[T], number: int) -> tuple[T, ...]:
    """`number` people: everyone once in each round, then a random part of them."""
    if number < 1:
        raise StudyError(f"people must be at least 1, got {number}")
    rounds, rest = divmod(number, len(people))
    return (*(tuple(people) * rounds), *SystemRandom().sample(people, rest))


def _day(moment: float) -> date:
    return datetime.fromtimestamp(moment, UTC).date()


def _written(value: object) -> str:
    """A TOML value: for printable text JSON's quoting is the same."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(k)} = {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | date) else _quoted(str(value))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
