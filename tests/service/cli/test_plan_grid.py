"""`deniable plan --explore`: what is chosen over a grid, for everything that can be asked."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from deniable_aggregator.collections.planning import plan
from deniable_aggregator.collections.planning.sweep import (
    EPSILONS,
    RECORDS,
    SIZES,
    decisions,
    record_of,
    sizes_of,
)
from deniable_shared.errors import ParameterError
from support.processes.deniable_command import Deniable
from support.tiers import by_tier, grid, rows

ASKED = [
    ("choice", "labels"),
    ("bits", "labels"),
    ("number", "mean"),
    ("number", "ranges"),
    ("record", "labels"),
    ("text", "labels"),
]
SEVERAL = {("bits", "labels"): 2, ("choice", "labels"): 4, ("record", "labels"): 4}


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return Deniable(tmp_path)


@pytest.mark.slow
def test_every_size_and_epsilon_has_a_choice_within_5_percent_of_the_least(
    deniable: Deniable,
) -> None:
    reply = deniable.json("plan", "--explore")
    assert [(cell["domain"], cell["epsilon"]) for cell in reply["choices"]] == [
        (size, epsilon) for size in SIZES for epsilon in EPSILONS
    ]
    assert max(cell["ratio_to_optimum"] for cell in reply["choices"]) <= 1.05
    shown = deniable.done("plan", "--explore")
    assert "total error over the least there is" in shown
    assert "60,000" in shown
    assert "grr/1" in shown


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.parametrize(
    ("kind", "asks"), rows(ASKED, by_default=[("number", "mean")], long=ASKED[:1])
)
@pytest.mark.parametrize(
    "repeat", grid(["once", "memoized"], by_default=["memoized"], long=["once"])
)
def test_a_cell_is_what_a_plan_says(deniable: Deniable, kind: str, asks: str, repeat: str) -> None:
    """For many users: for few, what shows the narrowest interval of a mean may be another one."""
    ways = ("--type", kind, "--asks", asks, "--repeat", repeat)
    reply = deniable.json("plan", "--explore", *ways)
    assert (reply["type"], reply["asks"], reply["repeat"]) == (kind, asks, repeat)
    cells = reply["choices"]
    assert len(cells) == len(sizes_of(kind, asks)) * len(EPSILONS)
    for cell in cells[:: len(cells) // by_tier(3, 7)]:
        domain = record_of(tuple(cell["attributes"])) if cell["attributes"] else cell["domain"]
        whole = plan(domain, cell["epsilon"], 10**8, domain_type=kind, asks=asks, repeat=repeat)
        assert (cell["mechanism"], cell["domain"]) == (whole.mechanism, whole.domain)
        assert cell["payload_bytes"] == whole.payload_bytes
        assert cell["ratio_to_optimum"] == whole.ratio_to_optimum
        assert cell["std_error_of_one"] == pytest.approx(10**4 * whole.std_error)


@pytest.mark.slow
def test_records_are_named_by_their_attributes_and_errors_by_one_report(
    deniable: Deniable,
) -> None:
    shown = deniable.done("plan", "--explore", "--type", "record")
    for name in ("2×3×4", "2^10", "10×10×10", "standard error of one report", "√n times smaller"):
        assert name in shown
    assert [
        cell["attributes"]
        for cell in deniable.json("plan", "--explore", "--type", "record")["choices"]
    ][:: len(EPSILONS)] == [list(radices) for radices in RECORDS]


@pytest.mark.slow
def test_what_may_be_linked_is_chosen_from_more(deniable: Deniable) -> None:
    asked = ("plan", "--explore", "--repeat", "memoized")
    apart, linked = (deniable.json(*asked, *more) for more in ((), ("--linkable",)))
    ratios = [
        [cell["ratio_to_optimum"] for cell in result["choices"]] for result in (apart, linked)
    ]
    assert max(ratios[1]) <= 1.05 < max(ratios[0])


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "asks"), rows(ASKED, by_default=ASKED[:1], long=ASKED[1::2]))
def test_plot_draws_a_tile_for_every_size_and_epsilon(
    deniable: Deniable, tmp_path: Path, kind: str, asks: str
) -> None:
    file = tmp_path / "map.svg"
    deniable.done("plan", "--explore", "--type", kind, "--asks", asks, "--plot", str(file))
    text = file.read_text(encoding="utf-8")
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  (our own file)
    tiles, legend = (len(re.findall(rf'<rect [^>]*width="{w}"', text)) for w in (14, 12))
    assert tiles % 31 == 0
    assert tiles >= 31 * len(sizes_of(kind, asks))
    assert legend == len(re.findall(r">[a-z-]+/\d</text>", text))
    assert legend >= SEVERAL.get((kind, asks), 1)


def test_a_map_of_one_cell_is_one_choice() -> None:
    assert [choice.mechanism for choice in decisions([2], ["1"])] == ["grr/1"]
    with pytest.raises(ParameterError, match="must name at least one each"):
        decisions([], ["1"])


def test_what_cannot_be_asked_is_refused(deniable: Deniable) -> None:
    result = deniable("plan", "--explore", "--type", "bits", "--asks", "mean")
    assert result.exit_code == 1
    assert "asks must be labels but for a number" in result.stderr


@pytest.mark.slow
def test_a_plot_that_cannot_be_written_is_refused(deniable: Deniable, tmp_path: Path) -> None:
    result = deniable(
        "plan", "--explore", "--type", "text", "--plot", str(tmp_path / "no" / "map.svg")
    )
    assert result.exit_code == 1
    assert "cannot write" in result.stderr
