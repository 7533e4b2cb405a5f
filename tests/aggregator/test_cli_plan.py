"""`deniable plan`."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from deniable_aggregator.planning.explore import EPSILONS, SIZES, decisions
from support.deniable_command import Deniable

ASKED = ("--domain", "1000", "--epsilon", "1", "--users", "100000")


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return Deniable(tmp_path)


def test_json_is_the_plan(deniable: Deniable) -> None:
    told = deniable.json("plan", *ASKED, "--half-width", "0.02")
    assert (told["domain"], told["epsilon"], told["users"]) == (1000, "1", 100_000)
    assert told["half_width_wanted"] == 0.02
    assert told["ratio_to_optimum"] < 1.05
    assert told["users_needed"] == pytest.approx(3.683 * (1.96 / 0.02) ** 2, rel=0.06)
    assert 0.5 < float(told["epsilon_needed"]) < 0.9
    assert [way["repeat"] for way in told["repeats"]] == ["once", "fresh", "memoized"]


def test_table_says_what_is_chosen_why_and_what_it_shows(deniable: Deniable) -> None:
    shown = deniable.done("plan", *ASKED)
    assert "choice of 1,000, ε = 1, 100,000 users" in shown
    for part in ("mechanism", "why", "interval", "for ± 1%", "shows up", "made-up", "shuffled"):
        assert part in shown
    assert "least error that any mechanism can have" in shown


@pytest.mark.parametrize("repeat", ["fresh", "memoized"])
def test_what_is_asked_again_is_planned_so(deniable: Deniable, repeat: str) -> None:
    bits = ("--type", "bits", "--domain", "8", "--epsilon", "1", "--users", "5000")
    told = deniable.json("plan", *bits, "--repeat", repeat, "--epochs", "7")
    assert told["repeat"] == repeat
    by_name = {way["repeat"]: way for way in told["repeats"]}
    assert told["std_error"] == by_name[repeat]["std_error"]
    assert (by_name["fresh"]["epsilon_lifetime"], by_name["memoized"]["epsilon_lifetime"]) == (7, 2)


def test_a_plan_names_what_points_to_one_device(deniable: Deniable) -> None:
    asked = ("plan", "--domain", "1000", "--epsilon", "1", "--users", "5000")
    assert "identifier" not in deniable.done(*asked)
    assert "identifier" in deniable.done(*asked, "--linkable")
    linked = [way["linkage"] for way in deniable.json(*asked, "--linkable")["repeats"]]
    assert linked[:2] == [0, 0]
    assert linked[2] > 1


def test_explore_shows_a_choice_for_every_cell(deniable: Deniable) -> None:
    told = deniable.json("plan", "--explore")
    assert [(cell["domain"], cell["epsilon"]) for cell in told["choices"]] == [
        (size, epsilon) for size in SIZES for epsilon in EPSILONS
    ]
    assert max(cell["ratio_to_optimum"] for cell in told["choices"]) <= 1.05
    shown = deniable.done("plan", "--explore")
    assert "60,000" in shown
    assert "grr/1" in shown


@pytest.mark.parametrize("kind", ["choice", "bits"])
def test_plot_draws_a_tile_for_every_size_and_epsilon(
    deniable: Deniable, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "map.svg"
    deniable.done("plan", "--explore", "--type", kind, "--plot", str(file))
    text = file.read_text(encoding="utf-8")
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  # our own file
    tiles, legend = (len(re.findall(rf'<rect [^>]*width="{w}"', text)) for w in (14, 12))
    assert tiles % 31 == 0
    assert tiles >= 31 * 15
    assert 2 <= legend == len(re.findall(r">[a-z-]+/\d</text>", text))


def test_a_map_of_one_cell_is_one_choice() -> None:
    assert [choice.mechanism for choice in decisions([2], ["1"])] == ["grr/1"]


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
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(
    deniable: Deniable, arguments: tuple[str, ...]
) -> None:
    result = deniable("plan", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_what_no_mechanism_does_is_refused_with_the_reason(deniable: Deniable) -> None:
    result = deniable("plan", *ASKED, "--mechanism", "rr/1")
    assert result.exit_code == 1
    assert "mechanism must tell frequencies, one of affine/1" in result.stderr


def test_a_plot_that_cannot_be_written_is_refused(deniable: Deniable, tmp_path: Path) -> None:
    result = deniable("plan", "--explore", "--plot", str(tmp_path / "no" / "map.svg"))
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_lint_and_apply_say_why_a_mechanism_is_chosen(deniable: Deniable) -> None:
    file = deniable.folder / "theme.toml"
    labels = [word for number in range(20) for word in ("--label", f"l{number}")]
    file.write_text(deniable.done("collections", "new", "theme", "--type", "choice", *labels))
    told = deniable.json("collections", "lint", str(file))["collections"][0]
    assert told["mechanism"] == told["recommended"]
    assert told["ratio_to_optimum"] <= 1.05
    assert "least error that any mechanism can have" in told["reason"]
    assert f"{told['mechanism']}: {told['reason']}" in deniable.done(
        "collections", "lint", str(file)
    )
    file.write_text(file.read_text().replace('mechanism = "auto"', 'mechanism = "oue/1"'))
    named = deniable.json("collections", "lint", str(file))["collections"][0]
    assert (named["mechanism"], named["recommended"]) == ("oue/1", told["recommended"])
    assert named["reason"].startswith("named in the file; ")
