"""A device killed between any two statements never tosses a second coin and forgets no charge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_client import Client, Outcome
from deniable_client._state.installation import LEASE_SECONDS
from support.builders.client_world import OTHER, SETTINGS, Device, MakeDevice, nothing
from support.doubles.statement_crashes import Killed, Killer, killed_before
from support.tiers import by_tier

STEP = by_tier(23, 1)
"""Every 23rd statement by default."""

pytestmark = pytest.mark.deeper


@dataclass
class Life:
    """What one app did, and the replies it got, until its process ended."""

    device: Device
    outcomes: list[Outcome] = field(default_factory=list)
    denied: bool = False

    def live(self) -> None:
        """First start, consent, an answer, a failed and a good upload, another answer, the end."""
        self.device.aggregator.script.append(nothing(503))
        client = self.device.open()
        client.consent("granted")
        self.outcomes.append(client.record("settings", SETTINGS))
        client.flush(early=True)
        client.flush(early=True)
        self.outcomes.append(client.record("settings", OTHER))
        client.close()

    def object(self) -> None:
        """Consent, an answer, a denial."""
        client = self.device.open()
        client.consent("granted")
        self.outcomes.append(client.record("settings", SETTINGS))
        client.consent("denied")
        self.denied = True
        client.close()


def every_death(make_device: MakeDevice, tmp_path: Path, way: str) -> Iterator[tuple[Life, Device]]:
    """For each statement of a life: that life, ended before it, and the device as it was found."""
    at, ended = 0, False
    while not ended:
        place = tmp_path / str(at)
        place.mkdir()
        life = Life(make_device(path=place / "state.db"))
        killer = Killer(at, place / "state.db", place / "grave")
        try:
            with killed_before(killer):
                getattr(life, way)()
        except Killed:
            life.device.clock.advance(LEASE_SECONDS)
            yield (
                life,
                make_device(path=place / "grave" / "state.db", aggregator=life.device.aggregator),
            )
        ended = not killer.dead
        life.device.close()
        at += STEP


def live_on(survivor: Device) -> tuple[Client, Outcome]:
    """The next start, with another value."""
    client = survivor.open()
    client.consent("granted")
    outcome = client.record("settings", OTHER)
    client.flush(early=True)
    return client, outcome


@pytest.mark.slow
def test_there_is_never_a_second_coin_nor_a_lost_report_nor_a_smaller_ledger(
    make_device: MakeDevice, tmp_path: Path
) -> None:
    deaths = 0
    for life, survivor in every_death(make_device, tmp_path, "live"):
        assert shown_by_a_copy(survivor, tmp_path / "copy") >= len(life.outcomes[:1])
        client, outcome = live_on(survivor)
        received = survivor.aggregator.received
        assert len({each.report.header.report_id for each in received}) == 1
        assert len({each.payload for each in received}) == 1
        assert outcome is Outcome.ALREADY_ANSWERED or not life.outcomes
        assert client.flush(early=True).waiting == 0
        assert survivor.open().budget().spent == 1
        deaths += 1
    assert deaths > 60 / STEP


def shown_by_a_copy(survivor: Device, place: Path) -> Fraction:
    """The ε that the ledger shows; the survivor's own files stay as they were found."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(Path(survivor.path).parent, place)
    copy = Device(place / "state.db", survivor.aggregator, survivor.shipped)
    spent = copy.open().budget().spent.exact
    copy.close()
    return spent


@pytest.mark.slow
def test_a_denial_is_whole_or_did_not_happen(make_device: MakeDevice, tmp_path: Path) -> None:
    for life, survivor in every_death(make_device, tmp_path, "object"):
        client = survivor.open()
        waiting = client.flush().waiting
        with client._state.reading() as db:
            (keys,) = db.execute("SELECT count(key) FROM course").fetchone()
        if client.consent() == "denied":
            assert (waiting, keys) == (0, 0)
        assert client.consent() == "denied" or not life.denied
        assert client.budget().spent >= len(life.outcomes)


def test_dying_in_the_middle_of_a_request_sends_the_same_again(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(Killed())
    try:
        client.flush(early=True)
    except Killed:
        device.clock.advance(LEASE_SECONDS)
    _, outcome = live_on(device)
    assert outcome is Outcome.ALREADY_ANSWERED
    first, second = (each.report.header for each in device.aggregator.received)
    assert first == second
    assert len(set(device.payloads)) == 1
