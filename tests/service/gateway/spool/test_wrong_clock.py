"""An intake whose clock jumped refuses nothing for good: devices come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from support.builders import split_service
from support.builders.data_directory import DAY, Moment
from support.builders.relay_world import tell
from support.builders.split_service import Split


@pytest.fixture
def split(tmp_path: Path) -> Iterator[Split]:
    with split_service.opened(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("step", [400 * DAY, 10 * DAY, -10 * DAY])
def test_a_report_that_meets_a_wrong_clock_is_counted_later(split: Split, step: float) -> None:
    clock = Moment(split.clock())
    options = IntakeOptions(split.place.address, data=str(split.spool / "nowhere"))
    split.intake = KeylessIntake(options, clock=clock, boot_clock=lambda: 1_000.0)
    split.intake.tick()
    report = split.report()
    clock.now += step
    assert split.upload(report).status == 503
    split.intake.tick()
    refused = split.upload(report)
    assert refused.status == 503
    assert int(refused.headers["Retry-After"]) <= 41
    assert tell(split.intake.app, "GET", "/readyz").status == 503
    clock.now -= step
    split.intake.tick()
    assert split.upload(report).codes == []
    split.consumer.run_once(at_once=True)
    assert split.n() == 1
