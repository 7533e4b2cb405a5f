"""`deniable attack`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.deniable_command import Deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return Deniable(tmp_path)


def test_json_has_the_three_ways_to_answer_and_what_each_gave_away(deniable: Deniable) -> None:
    told = deniable.json("attack", "reconstruct", "--rows", "60", "--epsilon", "0.5")
    exact, unaccounted, private = told["attempts"]
    assert (told["rows"], told["queries"], told["epsilon"]) == (60, 240, 0.5)
    assert [way["answers"] for way in told["attempts"]] == ["exact", "unaccounted", "private"]
    assert (exact["epsilon"], exact["recovered"], exact["share"]) == (None, 60, 1.0)
    assert unaccounted["epsilon"] > 40
    assert private["epsilon"] == 0.5
    assert 0.5 < private["at_most"] < 0.53
    assert 0 <= private["recovered"] == round(private["share"] * 60) <= 60


def test_table_says_what_guessing_recovers_and_what_any_attack_does_at_most(
    deniable: Deniable,
) -> None:
    shown = deniable.done("attack", "reconstruct", "--rows", "40", "--queries", "400")
    assert "40 secret bits from 400 counts of random subsets" in shown
    assert "40 of 40" in shown
    assert "ε = 1 for all together" in shown
    assert "Guessing recovers 14 to 26 of 40 in 95% of cases." in shown


def test_it_leaves_no_data_directory(deniable: Deniable) -> None:
    deniable.done("attack", "reconstruct", "--rows", "5")
    assert not deniable.data.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rows", "0"),
        ("--rows", "201"),
        ("--queries", "0"),
        ("--epsilon", "0"),
        ("--epsilon", "x"),
    ],
)
def test_what_cannot_be_drawn_is_wrong_usage(
    deniable: Deniable, arguments: tuple[str, ...]
) -> None:
    result = deniable("attack", "reconstruct", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
