"""Who answers in a demo, what they are asked, and what is true of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.operations.demo.questions import LIVE_PEOPLE, made_up_study
from deniable_aggregator.operations.demo.study import (
    PAST_DAYS,
    PREFIX,
    Question,
    Study,
    StudyError,
    draw_people,
)
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import Manifest

NOW = 1_796_000_000.0
EVERYBODY = "abcdefg"
PLAN = Question(
    name="plan",
    purpose="Which plan do people have?",
    domain={"type": "choice", "labels": ["free", "paid"]},
    epsilon="0.5",
    answers=("free", "paid"),
    past=((3, 1), (2, 2)),
)


def manifest(question: Question, now: float = NOW) -> Manifest:
    return manifest_from_toml(question.toml(now), ingest=["http://127.0.0.1:8000"])


def test_as_many_as_there_are_is_everybody_once() -> None:
    assert Counter(draw_people(EVERYBODY, 7)) == Counter(EVERYBODY)


def test_more_than_there_are_is_whole_rounds_and_a_random_rest() -> None:
    counts = Counter(draw_people(EVERYBODY, 17))
    assert sorted(counts.values()) == [2, 2, 2, 2, 3, 3, 3]


def test_fewer_than_there_are_is_different_people() -> None:
    assert sorted(Counter(draw_people(EVERYBODY, 3)).values()) == [1, 1, 1]


def test_nobody_is_refused() -> None:
    with pytest.raises(StudyError, match="at least 1, got 0"):
        draw_people(EVERYBODY, 0)


def test_a_question_becomes_a_manifest_that_is_open_in_past_epochs() -> None:
    made = manifest(PLAN)
    assert (made.mechanism_id, made.min_batch, str(made.epsilon_report)) == ("grr/1", 1, "1/2")
    assert made.first_epoch <= PLAN.past_epochs(NOW)[0]
    assert made.started(NOW)
    assert not made.expired(NOW)


@pytest.mark.parametrize("days", [1, 7])
@pytest.mark.parametrize("now", [NOW, 86_400 * 20_800, 86_400 * 20_800 - 1])
def test_past_epochs_end_before_the_one_that_is_current(now: float, days: int) -> None:
    asked = replace(PLAN, epoch_days=days)
    assert list(asked.past_epochs(now)) == [epoch_at(now, days * 86_400) - age for age in (2, 1)]
    assert manifest(asked, now).first_epoch <= asked.past_epochs(now)[0]


@pytest.mark.parametrize("label", ['say "hi"', "back\\slash", "naïve ε", "#", "[x]", "a, b"])
def test_any_printable_label_survives_the_toml(label: str) -> None:
    odd = replace(PLAN, domain={"type": "choice", "labels": [label, "other"]})
    assert manifest(odd).domain.labels == (label, "other")


def test_what_people_say_today_is_counted() -> None:
    study = Study((PLAN,), ((0,), (1,), (0,)))
    assert study.answers() == [{"plan": "free"}, {"plan": "paid"}, {"plan": "free"}]
    assert study.today(PLAN) == (2, 1)


def test_a_study_without_people_is_refused() -> None:
    with pytest.raises(StudyError, match="at least one question and one person"):
        Study((PLAN,), ())


def test_the_made_up_questions_are_of_every_type_and_cover_thirty_days() -> None:
    study = made_up_study()
    assert len(study.people) == LIVE_PEOPLE
    types = [manifest(question).domain.type for question in study.questions]
    assert sorted(types) == ["bits", "choice", "number", "record", "text"]
    for question in study.questions:
        assert question.name.startswith(PREFIX)
        assert len(question.past) == PAST_DAYS // question.epoch_days
        assert question.purpose.endswith(("?", "."))
        domain = manifest(question).domain
        assert len({repr(domain.encode(answer)) for answer in question.answers}) == len(
            question.answers
        )


def test_one_question_has_a_trend_and_one_a_change_in_the_last_week() -> None:
    """4,000 people a day: a share is off by 8 points with a chance below 1e-20."""
    commute, features = made_up_study().questions[:2]
    bike = [day[2] / sum(day) for day in commute.past]
    assert bike[-1] - bike[0] == pytest.approx(0.12, abs=0.08)
    has_it = [dict(answer)["dark mode"] for answer in features.answers]  # type: ignore[call-overload]  # an answer of this question is a record
    dark = [
        sum(n for n, has in zip(day, has_it, strict=True) if has) / sum(day)
        for day in features.past
    ]
    assert max(dark[:-7]) + 0.02 < min(dark[-7:])
