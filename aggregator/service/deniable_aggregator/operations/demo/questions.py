"""The questions of `deniable demo`, and the simulated people who answer them.

Each day other people answer. Their answers are drawn from the day's shares, which change
for a plausible reason: `commute` has a trend, `features` has one change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import exp, prod

from deniable_aggregator.operations.demo.study import (
    PAST_DAYS,
    PREFIX,
    Question,
    Study,
    draw_people,
)
from deniable_estimators.simulation import generator

Shares = Callable[[float], Sequence[float]]
"""The share of each answer, given how much of the past is over: 0 on the first day, 1 today."""

LIVE_PEOPLE = 200
PEOPLE_A_DAY = 4_000
WEEKEND = 0.6
CHANGED_DAYS = 7
FEATURES = ("dark mode", "offline", "sharing", "voice search")
COMMUTES = ("by car", "by bus or train", "by bike", "on foot", "at home")
WISHES = ("offline", "export", "tabs", "widgets", "undo", "sync")
SYSTEMS = ("Windows", "macOS", "Linux", "Android", "iOS")
SCREENS = ("small", "medium", "large")
MINUTES = tuple(range(0, 62, 2))


def made_up_study(people: int = LIVE_PEOPLE) -> Study:
    """Five questions, thirty past days of each, and the people of today."""
    questions = (_commute(), _features(), _minutes(), _devices(), _wishes())
    columns = [_today(question, people) for question in questions]
    return Study(questions, tuple(zip(*columns, strict=True)))


def _commute() -> Question:
    def shares(past: float) -> Sequence[float]:
        bike = 0.14 + 0.12 * past
        return (0.44 - 0.10 * past, 0.22, bike, 0.09, 0.11 - 0.02 * past)

    return Question(
        name=f"{PREFIX}commute",
        purpose="How did people get to work today?",
        domain={"type": "choice", "labels": COMMUTES},
        epsilon="2",
        answers=COMMUTES,
        past=_past(shares),
        release="histogram",
        public=True,
    )


def _features() -> Question:
    answers = tuple(
        dict(zip(FEATURES, bits, strict=True))
        for bits in product((False, True), repeat=len(FEATURES))
    )

    def shares(past: float) -> Sequence[float]:
        changed = past > 1 - (CHANGED_DAYS + 0.5) / PAST_DAYS
        on = (0.46 if changed else 0.31, 0.22, 0.38, 0.07)
        return [
            prod(p if used else 1 - p for p, used in zip(on, bits.values(), strict=True))
            for bits in answers
        ]

    return Question(
        name=f"{PREFIX}features",
        purpose="Which features do people use? Since release 2.0 dark mode is the default.",
        domain={"type": "bits", "labels": FEATURES},
        epsilon="2",
        answers=answers,
        past=_past(shares),
    )


def _minutes() -> Question:
    """Minutes a day: some people stay for a moment, others for half an hour."""
    short, long = (
        _of_one([exp(-(((minute - at) / wide) ** 2) / 2) for minute in MINUTES])
        for at, wide in ((6, 5), (32, 9))
    )
    weights = [0.6 * one + 0.4 * other for one, other in zip(short, long, strict=True)]
    return Question(
        name=f"{PREFIX}minutes",
        purpose="How many minutes a day do people spend in the app?",
        domain={"type": "number", "low": 0, "high": MINUTES[-1], "step": 2},
        epsilon="2",
        answers=MINUTES,
        past=_past(lambda _past: weights),
    )


def _devices() -> Question:
    answers = tuple(
        {"system": system, "screen": screen} for system, screen in product(SYSTEMS, SCREENS)
    )
    by_system = (
        *((0.01, 0.20, 0.15), (0.00, 0.10, 0.06), (0.01, 0.03, 0.03)),
        *((0.19, 0.03, 0.00), (0.16, 0.03, 0.00)),
    )
    weights = [share for shares in by_system for share in shares]
    return Question(
        name=f"{PREFIX}devices",
        purpose="Which systems and screens must the next version look good on?",
        domain={"type": "record", "attributes": {"system": SYSTEMS, "screen": SCREENS}},
        epsilon="2",
        answers=answers,
        past=_past(lambda _past: weights),
        session="queries",
    )


def _wishes() -> Question:
    """A text question. Its tally is large, so its epoch is a week instead of a day."""
    weights = (0.30, 0.24, 0.18, 0.13, 0.09, 0.06)
    return Question(
        name=f"{PREFIX}wishes",
        purpose="Which one feature do people miss most, in their own words?",
        domain={"type": "text", "max_bytes": 8},
        epsilon="4",
        answers=WISHES,
        past=_past(lambda _past: weights, epoch_days=7),
        epoch_days=7,
    )


def _past(shares: Shares, *, epoch_days: int = 1) -> tuple[tuple[int, ...], ...]:
    epochs, draws = PAST_DAYS // epoch_days, generator()
    counts = (
        draws.multinomial(_people(place, epoch_days), _of_one(shares(place / epochs)))
        for place in range(epochs)
    )
    return tuple(tuple(each.tolist()) for each in counts)


def _people(place: int, epoch_days: int) -> int:
    """The number of people in an epoch; fewer answer on two days of seven."""
    weekday = PEOPLE_A_DAY if place % 7 < 5 else int(WEEKEND * PEOPLE_A_DAY)
    return weekday if epoch_days == 1 else epoch_days * PEOPLE_A_DAY


def _of_one(weights: Sequence[float]) -> Sequence[float]:
    total = sum(weights)
    return [float(weight / total) for weight in weights]


def _today(question: Question, people: int) -> tuple[int, ...]:
    """The indices of `people` answers, distributed as in the newest epoch."""
    newest = [place for place, count in enumerate(question.past[-1]) for _ in range(count)]
    return draw_people(newest, people)
