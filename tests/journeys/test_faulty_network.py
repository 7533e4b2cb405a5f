"""Devices behind a network that breaks: each report is counted once, with or without a reply."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.keys import read_trust
from deniable_aggregator.operations.process.serving import free_port
from deniable_client import Ceiling, Client
from support.doubles.fault_proxy import REFUSED_BEFORE, Fault, FaultProxy, proxied
from support.processes.live_service import Live, live
from support.tiers import by_tier

pytestmark = pytest.mark.processes

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=4)
LATER_SECONDS = 40.0
MOST_TRIES = 30
SHIPPED = "settings.manifest"


@dataclass
class Network:
    """A service behind a proxy, whose next faults a test writes down."""

    live: Live
    proxy: FaultProxy
    coming: list[Fault] = field(default_factory=list)

    def next(self) -> Fault:
        return self.coming.pop(0) if self.coming else Fault.PASS


@pytest.fixture(scope="module")
def faulty_network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    made: list[Network] = []
    folder, port = tmp_path_factory.mktemp("network"), free_port()
    with (
        proxied(("127.0.0.1", port), lambda: made[0].next()) as proxy,
        live(folder, port=port, public_url=proxy.url) as service,
    ):
        made.append(Network(service, proxy))
        with service.connect() as client:
            shipped = client.manifest(service.manifest.collection)
        (folder / SHIPPED).write_bytes(shipped)
        yield made[0]


def answered_once(faulty_network: Network, folder: Path) -> int:
    """Tries until a device's one answer is acknowledged; each try is a start of the app, later."""
    data, ahead = faulty_network.live.settings.data, 0.0
    for tries in range(1, MOST_TRIES):
        with Client(
            faulty_network.proxy.url,
            trust=read_trust(data),
            manifests=[data.parent / SHIPPED],
            state=folder / "state.db",
            ceiling=CEILING,
            clock=lambda: time.time() + ahead,  # noqa: B023  (each client is closed in its turn)
            background=False,
        ) as client:
            client.consent("granted")
            client.record("settings", {"dark_mode": True, "beta": False})
            if client.flush(5.0, early=True).accepted:
                return tries
        ahead += LATER_SECONDS
    raise AssertionError("the report never came through")


@given(coming=st.lists(st.sampled_from(Fault), max_size=6))
@settings(
    max_examples=by_tier(4, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_breaks_the_report_is_counted_once(
    faulty_network: Network, coming: list[Fault]
) -> None:
    before = faulty_network.live.counted()
    faulty_network.coming[:] = coming
    with TemporaryDirectory() as folder:
        answered_once(faulty_network, Path(folder))
    assert faulty_network.live.counted() == before + 1


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_of_the_upload_is_met_and_counts_nothing_twice(
    faulty_network: Network, fault: Fault, tmp_path: Path
) -> None:
    """The keys come through; the upload meets the fault."""
    before, met = faulty_network.live.counted(), len(faulty_network.proxy.met)
    faulty_network.coming[:] = [Fault.PASS, fault]
    answered_once(faulty_network, tmp_path)
    assert faulty_network.live.counted() == before + 1
    assert faulty_network.proxy.met[met : met + 2] == [Fault.PASS, fault]


@pytest.mark.parametrize("fault", [Fault.DROP_REPLY, Fault.CUT_REPLY])
def test_a_stored_report_without_a_reply_is_sent_again_and_counted_once(
    faulty_network: Network, fault: Fault, tmp_path: Path
) -> None:
    before, met = faulty_network.live.counted(), len(faulty_network.proxy.met)
    faulty_network.coming[:] = [Fault.PASS, fault]
    answered_once(faulty_network, tmp_path)
    sent = [each for each in faulty_network.proxy.met[met:] if each not in REFUSED_BEFORE]
    assert len(sent) >= 3
    assert faulty_network.live.counted() == before + 1
