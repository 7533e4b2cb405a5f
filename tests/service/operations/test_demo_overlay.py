"""What a service knows of the demo that it is, and that any other knows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.demo_overlay import (
    NAME,
    DemoOverlay,
    TrueAnswers,
    digest,
    read_overlay,
    write_overlay,
)
from deniable_gateway.errors import SettingsError

CHOICE = TrueAnswers([["a"], ["b"]], {7: [30, 10], 8: [0, 20]})
NUMBER = TrueAnswers([["0"], ["10"], ["2.5"]], {7: [1, 2, 1]})
RECORD = TrueAnswers(
    [["os=x", "beta=no"], ["os=x", "beta=yes"], ["os=y", "beta=no"]], {7: [1, 2, 5]}
)


def overlay(**questions: TrueAnswers) -> DemoOverlay:
    return DemoOverlay(digest("secret"), questions)


def test_shares_are_of_the_people_of_the_epochs_together() -> None:
    assert CHOICE.shares({7: 40}, ["a", "b"]) == {"a": 0.75, "b": 0.25}
    assert CHOICE.shares({7: 40, 8: 20}, ["b"]) == {"b": 0.5}


def test_an_epoch_weighs_as_much_as_reports_came_in() -> None:
    """Of the people of today some have sent already: those are like all of them."""
    assert CHOICE.shares({7: 40, 8: 10}, ["a"]) == {"a": 0.6}


def test_nothing_is_known_of_other_epochs_and_of_none() -> None:
    assert CHOICE.shares({9: 5}, ["a"]) == CHOICE.shares({}, ["a"]) == {}
    assert CHOICE.shares({7: 0}, ["a"]) == {}
    assert TrueAnswers([["a"]], {7: [0], 8: [2]}).shares({7: 0, 8: 2}, ["a"]) == {"a": 1.0}


def test_a_label_that_nobody_has_is_true_of_nobody() -> None:
    assert CHOICE.shares({7: 40}, ["c"]) == {"c": 0.0}


def test_cells_of_a_table_and_single_attributes_are_both_labels() -> None:
    shares = RECORD.shares({7: 8}, ["os=x, beta=yes", "beta=yes, os=x", "os=x", "os=y, beta=yes"])
    assert list(shares.values()) == [0.25, 0.25, 0.375, 0.0]


def test_mean_and_quantiles_of_numbers() -> None:
    assert NUMBER.quantities({7: 4}, ["mean", "p50", "p25", "p90"]) == {
        "mean": 5.625,
        "p50": 2.5,
        "p25": 0.0,
        "p90": 10.0,
    }


def test_labels_that_are_no_quantities_have_none() -> None:
    assert CHOICE.quantities({7: 40}, ["a", "pay"]) == {}


def test_a_collection_that_a_visitor_has_added_has_no_truth() -> None:
    assert overlay(a=CHOICE).shares("b", {7: 1}, ["a"]) == {}


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert read_overlay(settings) is None
    write_overlay(tmp_path, overlay(a=CHOICE))
    assert read_overlay(settings) == overlay(a=CHOICE)
    assert "secret" not in (tmp_path / NAME).read_text()


@pytest.mark.parametrize(
    "reachable",
    [
        {"host": "0.0.0.0"},  # noqa: S104  (no socket is opened)
        {"host": "192.168.1.5"},
        {"public_url": "https://stats.example.org"},
    ],
)
def test_it_serves_this_machine_only(tmp_path: Path, reachable: dict[str, str]) -> None:
    write_overlay(tmp_path, overlay())
    with pytest.raises(SettingsError, match=r"is a demo.*host must be 127\.0\.0\.1"):
        read_overlay(Settings(data=tmp_path, **reachable))  # type: ignore[arg-type]  # a wrong type is the point


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_every_name_of_this_machine_will_do(tmp_path: Path, host: str) -> None:
    write_overlay(tmp_path, overlay())
    assert read_overlay(Settings(data=tmp_path, host=host)) == overlay()
