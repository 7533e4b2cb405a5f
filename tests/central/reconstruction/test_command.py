"""`python -m deniable_central.reconstruction`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from deniable_central.reconstruction.__main__ import main

Capture = pytest.CaptureFixture[str]


def test_json_has_the_three_ways_to_answer_and_what_each_gave_away(capsys: Capture) -> None:
    assert main(["--rows", "60", "--epsilon", "0.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    exact, unaccounted, private = document["attempts"]
    assert (document["rows"], document["queries"], document["epsilon"]) == (60, 240, 0.5)
    assert [way["answers"] for way in document["attempts"]] == ["exact", "unaccounted", "private"]
    assert (exact["epsilon"], exact["recovered"], exact["share"]) == (None, 60, 1.0)
    assert unaccounted["epsilon"] > 40
    assert private["epsilon"] == 0.5
    assert 0.5 < private["at_most"] < 0.53
    assert 0 <= private["recovered"] == round(private["share"] * 60) <= 60


def test_table_has_what_guessing_and_what_any_attack_recovers(
    capsys: Capture,
) -> None:
    assert main(["--rows", "40", "--queries", "400"]) == 0
    output, progress = capsys.readouterr()
    assert "40 secret bits from 400 counts of random subsets" in output
    assert "40 of 40" in output
    assert "ε = 1 for all together" in output
    assert "Guessing recovers 14 to 26 of 40 in 95% of cases." in output
    assert max(map(len, output.splitlines())) <= 80
    assert [line.split()[1] for line in progress.splitlines()] == [
        "exact",
        "unaccounted",
        "private",
    ]


@pytest.mark.slow
def test_the_module_runs_by_its_name() -> None:
    """Of 60 subsets, two rows are in the same ones with a chance of 10 in 2^60."""
    command = [sys.executable, "-m", "deniable_central.reconstruction"]
    run = [*command, "--rows", "5", "--queries", "60"]
    output = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "5 of 5" in output


def test_help_fits_eighty_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    text = capsys.readouterr().out
    assert stopped.value.code == 0
    assert all(option in text for option in ("--rows", "--queries", "--epsilon", "--json"))
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rows", "0"),
        ("--rows", "201"),
        ("--rows", "x"),
        ("--queries", "0"),
        ("--epsilon", "0"),
        ("--epsilon", "x"),
    ],
)
def test_what_cannot_be_drawn_is_wrong_usage(arguments: tuple[str, str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    output, message = capsys.readouterr()
    assert stopped.value.code == 2
    assert output == ""
    assert "error: " in message
