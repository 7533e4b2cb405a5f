"""A server's clock is wrong for seconds: real processes, real devices, nothing lost."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import read_seed, read_trust
from deniable_aggregator.operations.process.serving import free_port, running
from deniable_client import Client, Outcome
from deniable_client.testing import FakeClock
from deniable_gateway.clock import reading
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from support.builders.devices_and_service import CEILING
from support.processes.clocked_service import clocked
from support.processes.deniable_command import Deniable, wait_until
from support.processes.live_service import Live, prepare

pytestmark = pytest.mark.processes

DAY = 86_400
WRONG_SECONDS = 15
MINUTE = 60
ANSWER = {"dark_mode": True, "beta": False}


class Phone:
    """A device with a clock that is right."""

    def __init__(self, address: str, signed: bytes, trust: str, state: Path) -> None:
        self.clock = FakeClock(time.time())
        self.client = Client(
            address,
            trust=trust,
            manifests=[signed],
            state=state,
            ceiling=CEILING,
            clock=self.clock,
            background=False,
        )
        self.client.consent("granted")
        assert self.client.record("settings", ANSWER) is Outcome.QUEUED

    def send(self) -> tuple[int, int, int]:
        """Upload what was not asked to come later: accepted, waiting, dropped."""
        result = self.client.flush(60.0, early=True)
        return result.accepted, result.waiting, result.dropped


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", [400 * DAY, 10 * DAY], ids=["400 days", "10 days"])
def test_a_clock_that_is_wrong_for_15_s_loses_nothing(tmp_path: Path, step: float) -> None:
    with clocked(tmp_path) as (live, dial):
        phones = [phone(live, tmp_path / f"phone-{number}.db") for number in range(6)]
        assert [each.send() for each in phones[:3]] == [(1, 0, 0)] * 3
        dial.step(step)
        assert_waits(live)
        assert [each.send() for each in phones[3:]] == [(0, 1, 0)] * 3
        dial.pass_time(WRONG_SECONDS)
        dial.step(-step)
        assert ready(live).status_code == 200
        for each in phones[3:]:
            each.clock.advance(MINUTE)
        assert [each.send() for each in phones[3:]] == [(1, 0, 0)] * 3
        assert live.counted() == len(phones)
        assert states(live) == {"open"}


@pytest.mark.exhaustive
def test_a_service_with_keys_signed_ahead_goes_on_once_confirmed(
    tmp_path: Path,
) -> None:
    """As after a start with a wrong clock: today's key list is ten days ahead."""
    deniable = Deniable(tmp_path)
    port = free_port()
    settings = Settings(data=deniable.data, port=port, public_url=f"http://127.0.0.1:{port}")
    manifest = prepare(settings, ahead=10 * DAY)
    with (tmp_path / "log").open("wb") as log, running(settings, log=log) as server:
        live = Live(settings, server, manifest)
        if not reading.synchronised(time.time()):  # then the clock needs no operator
            assert_waits(live)
        assert "UTC" in deniable.done("doctor", "confirm-clock")
        wait_until("the service is ready", lambda: ready(live).status_code == 200)
        assert phone(live, tmp_path / "phone.db").send() == (1, 0, 0)
        assert live.counted() == 1


def phone(live: Live, state: Path) -> Phone:
    seed = read_seed(live.settings.data.parent / "operator.key")
    signed = dsse.sign(live.manifest.body, payload_type=MANIFEST_TYPE, seed=seed)
    return Phone(live.server.address, signed, read_trust(live.settings.data), state)


def ready(live: Live) -> httpx.Response:
    return httpx.get(f"{live.server.address}/readyz", timeout=60, trust_env=False)


def assert_waits(live: Live) -> None:
    """Not ready for its clock alone, and says how that ends."""
    answer = ready(live)
    assert answer.status_code == 503
    wrong = {name for name, said in answer.json()["checks"].items() if said != "ok"}
    assert wrong == {"clock"}
    assert "deniable doctor confirm-clock" in answer.json()["detail"]


def states(live: Live) -> set[str]:
    with live.connect() as client:
        epochs = client.epochs(live.manifest.collection).document.epochs
    return {epoch.state for epoch in epochs}
