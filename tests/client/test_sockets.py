"""After an opt-out no socket is opened: held by a guard below everything."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from deniable_client import Ceiling, Client, HttpTransport
from support.builders.client_world import SETTINGS, URL, Device

OptOut = Callable[[Client, pytest.MonkeyPatch], object]

OPT_OUTS: dict[str, OptOut] = {
    "denied": lambda client, patch: client.consent("denied"),
    "DO_NOT_TRACK": lambda client, patch: patch.setenv("DO_NOT_TRACK", "1"),
    "DENIABLE_DISABLE": lambda client, patch: patch.setenv("DENIABLE_DISABLE", "1"),
    "policy": lambda client, patch: patch.setenv("DENIABLE_POLICY", "/"),
    "forgotten": lambda client, patch: client.forget(),
    "closed": lambda client, patch: client.close(),
}


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every attempt to look up or reach anything, none of which succeeds."""
    attempts: list[object] = []

    def refuse(*arguments: object, **named: object) -> None:
        attempts.append(arguments)
        raise OSError("guarded")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


def real(device: Device) -> Client:
    """A client of that device with the real transport."""
    client = Client(
        URL,
        trust=device.aggregator.operator.trust,
        manifests=[device.aggregator.operator.sign(each) for each in device.shipped],
        state=device.path,
        ceiling=Ceiling(2, 4, 8),
        transport=HttpTransport(),
        clock=device.clock,
        background=False,
    )
    device.clients.append(client)
    return client


def everything(client: Client) -> None:
    """All an app can do."""
    client.record("settings", SETTINGS)
    client.record("unknown", SETTINGS)
    client.flush(early=True)
    client.upload_due()
    client.refresh(names=["other"])


@pytest.mark.usefixtures("sockets")
def test_the_guard_sees_a_client_that_may_send(device: Device, connections: list[object]) -> None:
    client = real(device)
    client.consent("granted")
    everything(client)
    assert connections != []


def test_no_socket_before_consent(device: Device, connections: list[object]) -> None:
    everything(real(device))
    assert connections == []


@pytest.mark.usefixtures("sockets")
@pytest.mark.parametrize("opt_out", OPT_OUTS)
def test_no_socket_after_an_opt_out(
    device: Device, connections: list[object], opt_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = real(device)
    client.consent("granted")
    client.record("settings", SETTINGS)
    OPT_OUTS[opt_out](client, monkeypatch)
    everything(client)
    assert connections == []
