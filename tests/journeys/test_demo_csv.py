"""`deniable demo --csv`: one's own table through the real client and a service of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support.processes.command_leftovers import nothing_left
from support.processes.deniable_command import Deniable

pytestmark = pytest.mark.processes

CSV = "dark,beta,plan\n" + "1,0,free\n" * 30 + "0,1,paid\n" * 10 + "1,1,team\n" * 20


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.write("people.csv", CSV)
    (tmp_path / "tmp").mkdir()
    command.environ["TMPDIR"] = str(tmp_path / "tmp")
    return command


def demo(deniable: Deniable, *arguments: str) -> tuple[str | Path, ...]:
    return ("demo", "--csv", deniable.folder / "people.csv", "--no-serve", *arguments)


@pytest.mark.exhaustive
def test_every_row_answers_once_and_two_hundred_more_today(deniable: Deniable) -> None:
    columns = ("--column", "dark", "--column", "beta", "--column", "plan")
    document = deniable.json(*demo(deniable, *columns, "--epsilon", "4"))
    bits, choice = document["collections"]
    assert (bits["mechanism"], choice["mechanism"]) == ("rr/1", "grr/1")
    truth = {row["label"]: row["truth"] for row in (*bits["rows"], *choice["rows"])}
    assert truth == pytest.approx(  # 60 rows once; 200 today are three rounds and a random rest
        {"dark": 5 / 6, "beta": 0.5, "free": 0.5, "paid": 1 / 6, "team": 1 / 3}, abs=20 / 260
    )
    assert (bits["n"], choice["n"], bits["epsilon"]) == (260, 260, "4")
    assert document["uploads"]["accepted"] == 400
    assert nothing_left(deniable.folder / "tmp")


@pytest.mark.exhaustive
def test_one_bit_and_as_many_people_as_asked(deniable: Deniable) -> None:
    arguments = ("--column", "dark", "--epsilon", "0.5", "--people", "7")
    (bit,) = deniable.json(*demo(deniable, *arguments))["collections"]
    assert (bit["n"], bit["mechanism"], len(bit["rows"])) == (207, "rr/1", 1)


@pytest.mark.exhaustive
def test_the_table_says_what_covers_and_what_became_of_the_reports(deniable: Deniable) -> None:
    shown = deniable.done(*demo(deniable, "--column", "plan", "--epsilon", "1", "--people", "9"))
    assert "simulated-plan-" in shown
    assert "covers" in shown
    assert "200 of 200 reports accepted, 0 duplicates, 0 rejected" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--column", "plam", "--epsilon", "1"), "did you mean 'plan'?"),
        (("--column", "plan", "--column", "plan", "--epsilon", "1"), "name each column once"),
    ],
)
def test_data_that_cannot_be_used_are_refused_before_anything_starts(
    deniable: Deniable, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in deniable.refused(*demo(deniable, *arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--column", "plan", "--epsilon", "0"),
        ("--column", "plan", "--epsilon", "1e5000000"),
        ("--column", "plan", "--epsilon", "1", "--people", "0"),
    ],
)
def test_wrong_usage_ends_with_2(deniable: Deniable, arguments: tuple[str, ...]) -> None:
    assert deniable(*demo(deniable, *arguments)).exit_code == 2


@pytest.mark.exhaustive
def test_progress_is_shown_on_a_terminal_and_never_on_standard_output(deniable: Deniable) -> None:
    watched, terminal = os.openpty()
    arguments = demo(deniable, "--column", "plan", "--epsilon", "1", "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "deniable_aggregator", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=deniable.process_environ() | {"TERM": "xterm"},
    ) as process:
        os.close(terminal)
        said = all_that_is_written_to(watched)
        assert process.stdout is not None
        document = json.load(process.stdout)
    assert document["collections"][0]["n"] == 260
    for stage in ("Simulating past days", "Starting the service", "People answer"):
        assert stage in said


def all_that_is_written_to(terminal: int) -> str:
    written = b""
    with os.fdopen(terminal, "rb", buffering=0) as stream, suppress(OSError):  # EIO at its end
        while chunk := stream.read(65_536):
            written += chunk
    return written.decode()


@pytest.mark.exhaustive
def test_without_columns_it_asks_about_all_that_it_can(deniable: Deniable) -> None:
    deniable.write("people.csv", "id,dark,why\n1,1,so\n2,0,so\n1,1,so\n")
    result = deniable(*demo(deniable, "--json"))
    named = [each["collection"] for each in json.loads(result.stdout)["collections"]]
    assert [name.rpartition("-")[0] for name in named] == ["simulated-dark", "simulated-id"]
    assert "Left out: column 'why' has 'so' in every row" in result.stderr


def test_columns_and_an_epsilon_need_a_table(deniable: Deniable) -> None:
    assert "--csv FILE" in deniable("demo", "--column", "plan").stderr
    assert deniable("demo", "--epsilon", "1").exit_code == 2
    assert deniable("demo", "--people", "5").exit_code == 2
