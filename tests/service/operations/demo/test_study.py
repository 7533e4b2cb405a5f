"""Who answers in a simulation, what they are asked, and what is true of them."""

from __future__ import annotations

from collections import Counter

import pytest

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.operations.demo.study import (
    Study,
    StudyCollection,
    StudyError,
    draw_people,
)
from deniable_shared.manifest.model import Manifest

NOW = 1_796_000_000.0
EVERYBODY = [{"plan": name} for name in "abcdefg"]


def manifest(question: StudyCollection) -> Manifest:
    return manifest_from_toml(question.toml(NOW), ingest=["http://127.0.0.1:8000"])


def test_as_many_users_as_people_are_everybody_once() -> None:
    assert Counter(str(person) for person in draw_people(EVERYBODY, 7)) == {
        str(person): 1 for person in EVERYBODY
    }


def test_more_users_than_people_answer_in_whole_rounds_and_a_random_rest() -> None:
    counts = Counter(str(person) for person in draw_people(EVERYBODY, 17))
    assert sum(counts.values()) == 17
    assert sorted(counts.values()) == [2, 2, 2, 2, 3, 3, 3]


def test_fewer_users_than_people_are_different_people() -> None:
    counts = Counter(str(person) for person in draw_people(EVERYBODY, 3))
    assert sorted(counts.values()) == [1, 1, 1]


def test_no_users_are_refused() -> None:
    with pytest.raises(StudyError, match="at least 1, got 0"):
        draw_people(EVERYBODY, 0)


def test_the_truth_of_bits_is_the_share_of_each_label() -> None:
    question = StudyCollection("settings", "bits", ("dark", "beta"), "1")
    people = [{"settings": {"dark": True, "beta": n == 0}} for n in range(4)]
    assert question.truth(people) == [1.0, 0.25]


def test_the_truth_of_a_choice_adds_up_to_one_and_knows_labels_nobody_chose() -> None:
    question = StudyCollection("plan", "choice", ("a", "b", "z"), "1")
    assert question.truth([{"plan": "a"}, {"plan": "b"}, {"plan": "a"}, {"plan": "a"}]) == [
        0.75,
        0.25,
        0.0,
    ]


def test_a_question_becomes_a_manifest_that_takes_answers_today() -> None:
    made = manifest(StudyCollection("plan", "choice", ("free", "paid"), "0.5"))
    assert made.started(NOW)
    assert not made.expired(NOW)
    assert (made.mechanism_id, made.min_batch, str(made.epsilon_report)) == ("grr/1", 1, "1/2")


@pytest.mark.parametrize("label", ['say "hi"', "back\\slash", "naïve ε", "#", "[x]"])
def test_any_printable_label_survives_the_toml(label: str) -> None:
    made = manifest(StudyCollection("odd", "choice", (label, "other"), "1"))
    assert made.domain.labels == (label, "other")


def test_a_study_without_people_is_refused() -> None:
    with pytest.raises(StudyError, match="at least one question and one person"):
        Study((StudyCollection("plan", "choice", ("a", "b"), "1"),), ())
