"""`deniable estimates` and `deniable collections epochs`, over reports that were really counted."""

from __future__ import annotations

import csv
import io
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.processes.deniable_command import SETTINGS_TOML, Deniable

pytestmark = pytest.mark.slow

TODAY = int(time.time()) // 86_400


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    """A directory with one collection, which needs 50 reports to be read."""
    command = Deniable(tmp_path_factory.mktemp("applied"))
    command.prepare()
    path = command.write("settings.toml", "min_batch = 50\n" + SETTINGS_TOML)
    command.done("collections", "apply", path, "--key", command.key)
    return command


@pytest.fixture
def deniable(applied: Deniable, tmp_path: Path) -> Deniable:
    return applied.copy(tmp_path)


def count(
    deniable: Deniable,
    people: int,
    *,
    epoch: int = TODAY,
    bits: tuple[tuple[int, int], ...] = ((1, 0),),
) -> None:
    """Reports of people with these bits in turn: unless said, dark mode and no beta."""
    service = Service.open(Settings(data=deniable.data))
    collection = service.registry.get("settings")
    cell = TallyKey(collection.id, epoch, collection.manifest.version)
    mechanism = collection.mechanism
    arrivals = [
        AcceptedReport(
            cell,
            Coins.system().bytes(16),
            mechanism.randomize(bits[person % len(bits)], Coins.system()),
        )
        for person in range(people)
    ]
    service.store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))
    service.close()


def test_the_table_shows_frequency_interval_and_bar(deniable: Deniable) -> None:
    count(deniable, 400, bits=((1, 0), (0, 1)))  # a half each: 9 deviations from either edge
    shown = deniable.done("estimates", "settings")
    assert "n = 400, provisional" in shown
    assert "95% interval" in shown
    for label in ("dark_mode", "beta"):
        (line,) = (line for line in shown.splitlines() if label in line)
        assert "●" in line
        assert "┤" in line


def test_json_is_the_services_document(deniable: Deniable) -> None:
    count(deniable, 60)
    document = deniable.json("estimates", "settings", "--projection", "clip")
    assert (document["n"], document["epochs"], document["provisional"]) == (60, [TODAY], True)
    assert all(0 <= row["projected"] <= 1 for row in document["estimates"])


def test_the_projection_has_a_column_of_its_own(deniable: Deniable) -> None:
    count(deniable, 60)
    assert "projected" in deniable.done("estimates", "settings", "--projection", "clip")


def test_csv_is_one_row_a_label(deniable: Deniable) -> None:
    count(deniable, 60)
    printed = deniable.done("estimates", "settings", "--csv")
    assert [row["label"] for row in csv.DictReader(io.StringIO(printed))] == ["dark_mode", "beta"]


def test_epochs_can_be_read_one_by_one_or_as_a_range(deniable: Deniable) -> None:
    count(deniable, 70)
    count(deniable, 80, epoch=TODAY - 1)
    count(deniable, 10, epoch=TODAY - 2)
    shown = deniable.done("estimates", "settings", "--by-epoch")
    assert f"Epoch {TODAY - 1}\n" in shown
    assert f"Too few reports: {TODAY - 2}" in shown
    one = deniable.json("estimates", "settings", "--from", str(TODAY - 1), "--to", str(TODAY - 1))
    assert one["n"] == 80


def test_the_epochs_are_listed_with_their_state(deniable: Deniable) -> None:
    count(deniable, 5)
    shown = deniable.done("collections", "epochs", "list", "settings")
    assert str(TODAY) in shown
    assert "open" in shown


def test_the_only_open_epoch_closes_without_being_named(deniable: Deniable) -> None:
    count(deniable, 60)
    assert "is closed" in deniable.done("collections", "epochs", "close", "settings", "--yes")
    assert deniable.json("estimates", "settings")["provisional"] is False
    assert "nothing to close" in deniable.refused("collections", "epochs", "close", "settings")


def test_one_of_several_open_epochs_must_be_named(deniable: Deniable) -> None:
    count(deniable, 5)
    count(deniable, 5, epoch=TODAY - 1)
    assert "name one with --epoch" in deniable.refused("collections", "epochs", "close", "settings")
    closed = deniable.json(
        "collections", "epochs", "close", "settings", "--yes", "--epoch", str(TODAY - 1)
    )
    assert (closed["epoch"], closed["changed"]) == (TODAY - 1, True)


def test_closing_twice_says_so(deniable: Deniable) -> None:
    count(deniable, 5)
    arguments = ("collections", "epochs", "close", "settings", "--yes", "--epoch", str(TODAY))
    deniable.done(*arguments)
    assert "is already closed" in deniable.done(*arguments)


def test_too_few_reports_end_with_75_and_say_how_many_are_needed(deniable: Deniable) -> None:
    count(deniable, 49)
    assert "49" in deniable.refused("estimates", "settings", code=75)
    assert deniable("estimates", "settings", "--json").stdout == ""


def test_a_comparison_shows_what_changed(deniable: Deniable) -> None:
    count(deniable, 400, epoch=TODAY - 1)
    count(deniable, 400, bits=((0, 0),))
    shown = deniable.done(
        "compare", "settings", "--before-to", str(TODAY - 1), "--from", str(TODAY)
    )
    (line,) = (line for line in shown.splitlines() if "dark_mode" in line)
    assert line.split()[-1] == "changed"
    assert "1 of 2 changed." in shown
    today = datetime.fromtimestamp(TODAY * 86_400, UTC)
    assert f"after:  {today:%Y-%m-%d} (epoch {TODAY}), n = 400" in shown


def test_a_comparison_names_both_periods_or_neither(deniable: Deniable) -> None:
    assert "needs two closed periods" in deniable.refused("compare", "settings")
    half = deniable("compare", "settings", "--from", str(TODAY))
    assert (half.exit_code, "name both periods" in half.stderr) == (2, True)
