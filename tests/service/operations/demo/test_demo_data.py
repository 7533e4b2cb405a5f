"""The people aboard the Titanic, as the demonstration carries them."""

from __future__ import annotations

import csv
from collections import Counter
from importlib import resources

from deniable_aggregator.operations.demo import demo_data

AS_DAWSON_TABULATES = [
    *(0, 0, 35, 0, 0, 0, 17, 0),  # died: boys, girls of 1st, 2nd, 3rd, crew
    *(118, 154, 387, 670, 4, 13, 89, 3),  # died: men, women
    *(5, 11, 13, 0, 1, 13, 14, 0),  # survived: boys, girls
    *(57, 14, 75, 192, 140, 80, 76, 20),  # survived: men, women
]


def source() -> str:
    return resources.files(demo_data).joinpath("titanic.csv").read_text(encoding="utf-8")


def test_the_table_is_the_published_one_cell_by_cell() -> None:
    lines = [line for line in source().splitlines() if not line.startswith("#")]
    assert [int(row["people"]) for row in csv.DictReader(lines)] == AS_DAWSON_TABULATES


def test_2201_people_were_aboard_and_711_survived() -> None:
    people = demo_data.people()
    assert len(people) == 2_201
    assert sum(person.survived for person in people) == 711


def test_the_margins_are_those_of_the_inquiry() -> None:
    people = demo_data.people()
    berths = Counter(person.berth for person in people)
    assert berths == {"1st": 325, "2nd": 285, "3rd": 706, "crew": 885}
    assert sum(person.child for person in people) == 109
    assert sum(person.woman for person in people) == 425


def test_nobody_is_a_woman_and_a_child_and_the_crew_brought_no_children() -> None:
    people = demo_data.people()
    assert not any(person.woman and person.child for person in people)
    assert not any(person.child for person in people if person.berth == "crew")


def test_every_person_answers_both_collections_within_their_labels() -> None:
    for person in set(demo_data.people()):
        answers = person.answers()
        assert set(answers) == {"aboard", "berth"}
        assert answers["berth"] in demo_data.BERTHS
        assert list(answers["aboard"]) == list(demo_data.TRAITS)  # type: ignore[call-overload]


def test_the_data_say_where_they_come_from() -> None:
    assert "Board of Trade" in source()
    assert "public domain" in source()
