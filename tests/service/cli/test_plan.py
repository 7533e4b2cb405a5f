"""`deniable plan`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from deniable_aggregator.collections import planning
from deniable_aggregator.collections.planning import Plan, plan
from deniable_shared.domains import Record
from support.processes.deniable_command import Deniable

compute = cache(plan)
"""Each plan once, for the tests of this file and the command: of 1,000 labels it takes long."""

PURPOSE = ("--purpose", "Which theme do people use?")
ASKED = ("--domain", "1000", "--epsilon", "1", "--users", "100000")


@pytest.fixture
def deniable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deniable:
    monkeypatch.setattr(planning, "plan", compute)
    return Deniable(tmp_path)


def as_told(found: Plan) -> object:
    return json.loads(json.dumps(found.to_json()))


@pytest.mark.slow
def test_json_is_the_plan(deniable: Deniable) -> None:
    reply = deniable.json("plan", *ASKED, "--half-width", "0.02")
    assert (reply["domain"], reply["epsilon"], reply["users"]) == (1000, "1", 100_000)
    assert reply["half_width_wanted"] == 0.02
    assert reply["ratio_to_optimum"] < 1.05
    assert reply["users_needed"] == pytest.approx(3.683 * (1.96 / 0.02) ** 2, rel=0.06)
    assert 0.5 < float(reply["epsilon_needed"]) < 0.9
    assert [way["repeat"] for way in reply["repeats"]] == ["once", "fresh", "memoized"]


@pytest.mark.slow
def test_table_says_what_is_chosen_why_and_what_it_shows(deniable: Deniable) -> None:
    shown = deniable.done("plan", *ASKED)
    assert "choice of 1,000, ε = 1, 100,000 users" in shown
    for part in (
        "mechanism",
        "why",
        "interval",
        "for ± 1%",
        "shows up",
        "fake reports",
        "shuffled",
    ):
        assert part in shown
    assert "least error that any mechanism can have" in shown


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
def test_what_is_asked_again_is_planned_so(deniable: Deniable, repeat: str) -> None:
    bits = ("--type", "bits", "--domain", "8", "--epsilon", "1", "--users", "5000")
    reply = deniable.json("plan", *bits, "--repeat", repeat, "--epochs", "7")
    assert reply["repeat"] == repeat
    by_name = {way["repeat"]: way for way in reply["repeats"]}
    assert reply["std_error"] == by_name[repeat]["std_error"]
    assert (by_name["fresh"]["epsilon_lifetime"], by_name["memoized"]["epsilon_lifetime"]) == (7, 2)


@pytest.mark.slow
def test_a_plan_names_what_points_to_one_device(deniable: Deniable) -> None:
    asked = ("plan", "--domain", "1000", "--epsilon", "1", "--users", "5000")
    assert "identifier" not in deniable.done(*asked)
    assert "identifier" in deniable.done(*asked, "--linkable")
    linked = [way["linkage"] for way in deniable.json(*asked, "--linkable")["repeats"]]
    assert linked[:2] == [0, 0]
    assert linked[2] > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asks", "able", "about"),
    [
        ("mean", "optimal-mean/1", "the mean of answers spread evenly"),
        ("ranges", "tree/1", "a range of values"),
        ("labels", "cyclic/1", "a label near 0"),
    ],
)
def test_a_number_is_planned_for_what_it_is_asked(
    deniable: Deniable, asks: str, able: str, about: str
) -> None:
    number = ("--type", "number", "--domain", "101", "--epsilon", "1", "--users", "10000")
    reply = deniable.json("plan", *number, "--asks", asks)
    assert (reply["asks"], reply["mechanism"]) == (asks, able)
    assert reply["about"].startswith(about)
    assert reply == as_told(plan(101, "1", 10_000, domain_type="number", asks=asks))
    shown = deniable.done("plan", *number, "--asks", asks)
    assert about in shown
    assert ("above least" in shown) == (asks != "labels")


@pytest.mark.slow
def test_a_record_is_planned_by_its_attributes(deniable: Deniable) -> None:
    asked = ("plan", "--type", "record", "--epsilon", "1", "--users", "100000")
    reply = deniable.json(*asked, "--attributes", "3,4,2")
    attributes = [("a", ("x", "y", "z")), ("b", ("p", "q", "r", "s")), ("c", ("no", "yes"))]
    assert reply == as_told(plan(Record(tuple(attributes)), "1", 100_000))
    assert (reply["type"], reply["domain"]) == ("record", 24)
    wide = deniable.json(*asked, "--attributes", ",".join(["2"] * 10))
    assert wide["mechanism"] == "fourier/1"
    assert "a cell of two attributes" in deniable.done(*asked, "--attributes", "3,4,2")


@pytest.mark.slow
def test_a_text_is_planned_by_its_bytes_at_every_epsilon(deniable: Deniable) -> None:
    for epsilon in ("1", "3.3", "3.45"):  # of the last two 64 tables are fewer than 2^16 codes
        text = ("--type", "text", "--domain", "16", "--epsilon", epsilon, "--users", "100000")
        reply = deniable.json("plan", *text)
        assert reply["mechanism"] == "prefix-hash/1"
        assert reply["parameters"]["tables"] <= 64


@pytest.mark.slow
def test_a_mechanism_that_is_named_is_planned_with_its_ratio(deniable: Deniable) -> None:
    reply = deniable.json("plan", *ASKED, "--mechanism", "grr/1")
    assert reply["mechanism"] == "grr/1"
    assert reply["reason"].startswith("named; ")
    assert reply["ratio_to_optimum"] > 50


@pytest.mark.slow
def test_what_a_relay_leaves_of_epsilon_is_told_for_the_share_of_liars(deniable: Deniable) -> None:
    honest = deniable.json("plan", *ASKED, "--batch", "2000", "--liars", "0.2")["relay"]
    half = deniable.json("plan", *ASKED, "--batch", "2000")["relay"]
    assert (honest["reports"], half["reports"]) == (1600, 1000)
    assert honest["epsilon"] < half["epsilon"] < 1
    assert "in batches of 2,000 of which 0.2 is fake" in deniable.done(
        "plan", *ASKED, "--batch", "2000", "--liars", "0.2"
    )


@pytest.mark.slow
def test_reports_that_say_whose_they_are_keep_their_epsilon_when_shuffled(
    deniable: Deniable,
) -> None:
    apart, known = (deniable.json("plan", *ASKED, *more) for more in ((), ("--identified",)))
    assert (apart["identified"], known["identified"]) == (False, True)
    assert apart["shuffle_epsilon"] < 0.01
    assert known["shuffle_epsilon"] == 1
    differing = {name for name in apart if apart[name] != known[name]}
    assert differing == {"identified", "shuffle_epsilon"}
    assert "every report identifies its person" in deniable.done("plan", *ASKED, "--identified")
    refused = deniable("plan", *ASKED, "--identified", "--batch", "2000")
    assert refused.exit_code == 1
    assert "shuffling hides no report that is identified" in refused.stderr


@pytest.mark.slow
def test_it_leaves_no_data_directory(deniable: Deniable) -> None:
    deniable.done("plan", *ASKED)
    assert not deniable.data.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--domain", "10", "--users", "5"),
        ("--domain", "0", "--epsilon", "1", "--users", "5"),
        ("--domain", "10", "--epsilon", "0", "--users", "5"),
        ("--domain", "10", "--epsilon", "1", "--users", "5", "--half-width", "0"),
        (*ASKED, "--plot", "x.svg"),
        (*ASKED, "--asks", "median"),
        (*ASKED, "--attributes", "2,2"),
        (*ASKED, "--batch", "1"),
        (*ASKED, "--liars", "1"),
        ("--type", "record", *ASKED),
        ("--type", "record", "--attributes", "2,,2", "--epsilon", "1", "--users", "5"),
        ("--type", "record", "--attributes", "2,-2", "--epsilon", "1", "--users", "5"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(
    deniable: Deniable, arguments: tuple[str, ...]
) -> None:
    result = deniable("plan", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--mechanism", "rr/1"), "mechanism must measure frequencies, one of affine/1"),
        (("--asks", "mean"), "asks must be labels but for a number, got mean of a choice"),
        (("--domain", "1"), "domain must have at least 2 labels or steps, got 1"),
    ],
)
def test_what_no_mechanism_does_is_refused_with_the_reason(
    deniable: Deniable, arguments: tuple[str, str], reason: str
) -> None:
    result = deniable("plan", *ASKED, *arguments)
    assert result.exit_code == 1
    assert reason in result.stderr


def test_lint_and_apply_say_why_a_mechanism_is_chosen(deniable: Deniable) -> None:
    file = deniable.folder / "theme.toml"
    labels = [word for number in range(20) for word in ("--label", f"l{number}")]
    file.write_text(
        deniable.done("collections", "new", "theme", "--type", "choice", *labels, *PURPOSE)
    )
    reply = deniable.json("collections", "lint", str(file))["collections"][0]
    assert reply["mechanism"] == reply["recommended"]
    assert reply["ratio_to_optimum"] <= 1.05
    assert "least error that any mechanism can have" in reply["reason"]
    assert f"{reply['mechanism']}: {reply['reason']}" in deniable.done(
        "collections", "lint", str(file)
    )
    file.write_text(file.read_text().replace('mechanism = "auto"', 'mechanism = "oue/1"'))
    named = deniable.json("collections", "lint", str(file))["collections"][0]
    assert (named["mechanism"], named["recommended"]) == ("oue/1", reply["recommended"])
    assert named["reason"].startswith("named in the file; ")
