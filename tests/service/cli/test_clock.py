"""`deniable doctor confirm-clock`: one command, for processes that run and for the next start."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_gateway.clock import reading, record
from deniable_gateway.clock.reading import Reading, boot_id, boot_time
from support.builders.data_directory import DAY
from support.processes.deniable_command import Deniable


@pytest.fixture
def deniable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deniable:
    """Its last tick was ten days ahead of the clock, and no time service vouches for that."""
    monkeypatch.setattr(reading, "_adjtimex", lambda timex: -1)
    command = Deniable(tmp_path)
    command.prepare()
    later = Reading(time.time() + 10 * DAY, boot_time(), boot_id())
    record.write(command.data, record.ClockRecord(later, later, 0.0))
    return command


@pytest.mark.slow
def test_an_irreversible_command_waits_for_a_confirmed_clock(
    deniable: Deniable,
) -> None:
    said = deniable.refused("keys", "rotate", code=75)
    assert "the clock jumped 10.0 days back" in said
    assert "run `deniable doctor confirm-clock`" in said
    assert "jumped 10.0 days back" in deniable.refused("keys", "delegate", code=75)
    assert [key["state"] for key in deniable.json("keys", "list")["keys"]] == ["active"]
    assert "Confirmed for" in deniable.done("doctor", "confirm-clock")
    deniable.done("keys", "rotate")
    deniable.done("keys", "delegate")


def test_a_service_that_runs_takes_it_up(deniable: Deniable) -> None:
    service = Service.open(Settings(data=deniable.data))
    try:
        service.tick()
        assert service.suspension.reason("clock") is not None
        said = deniable.json("doctor", "confirm-clock")
        assert abs(said["now"] - time.time()) < 60
        service.tick()
        assert service.suspension.reason("clock") is None
    finally:
        service.close()


def test_what_it_writes_is_for_its_owner_alone(deniable: Deniable) -> None:
    deniable.done("doctor", "confirm-clock")
    for name in (record.NAME, record.CONFIRMED):
        assert stat.S_IMODE((deniable.data / name).stat().st_mode) == 0o600


def test_without_a_data_directory_it_says_how_to_name_one(tmp_path: Path) -> None:
    assert "name the service's directory with --data" in Deniable(tmp_path).refused(
        "doctor", "confirm-clock"
    )
