"""Fixtures of the client's tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from deniable_client.opt_outs import CI_MARKERS
from deniable_client.testing import FakeClock
from deniable_shared.manifest.model import Manifest
from support.builders.client_world import START, Aggregator, Device, MakeDevice, Operator, manifest
from support.doubles.http_libraries import LIBRARIES, sockets_over


@pytest.fixture(scope="session")
def operator() -> Operator:
    """One operator for all tests: keys are slow to make."""
    return Operator()


@pytest.fixture(autouse=True)
def nobody_objects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine that runs the tests may have its own opinion on telemetry."""
    for switch in ("DO_NOT_TRACK", "DENIABLE_DISABLE", "DENIABLE_POLICY", *CI_MARKERS):
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(params=LIBRARIES)
def sockets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The sockets of the real transport, over each library of HTTP in turn."""
    return sockets_over(request.param, monkeypatch)


@pytest.fixture
def make_device(operator: Operator, tmp_path: Path) -> Iterator[MakeDevice]:
    """Devices with one file of the test's directory, unless `path` says otherwise."""
    devices: list[Device] = []

    def make(
        *shipped: Manifest, path: str | Path = "", aggregator: Aggregator | None = None
    ) -> Device:
        side = aggregator or Aggregator(operator, FakeClock(START))
        device = Device(path or tmp_path / "state.db", side, shipped or (manifest(),))
        devices.append(device)
        return device

    yield make
    for device in devices:
        device.close()


@pytest.fixture
def device(make_device: MakeDevice) -> Device:
    """A device whose app ships the settings collection."""
    return make_device()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """What the client has logged so far."""
    with caplog.at_level(logging.DEBUG, logger="deniable_client"):
        yield lambda: caplog.messages
