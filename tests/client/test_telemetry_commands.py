"""`telemetry status / on / off / show`, mounted into an app of argparse and one of click."""

from __future__ import annotations

import argparse
import threading
import webbrowser
from collections.abc import Callable
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from deniable_client import Client
from deniable_client.argparse_commands import add_telemetry
from support.builders.client_world import SETTINGS, Device, MakeDevice

Run = Callable[..., tuple[int, str]]
"""The words of a command → its exit code and what it said."""


def in_argparse(client: Client, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        add_telemetry(parser.add_subparsers(required=True), lambda: client)
        try:
            given = parser.parse_args(["telemetry", *words])
            given.run(given)
        except SystemExit as exit:
            return int(exit.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return run


def in_click(client: Client, capsys: pytest.CaptureFixture[str]) -> Run:
    click = pytest.importorskip("click")
    from click.testing import CliRunner

    from deniable_client.click_commands import telemetry

    def run(*words: str) -> tuple[int, str]:
        main = click.Group("app")
        main.add_command(telemetry(lambda: client))
        result = CliRunner().invoke(main, ["telemetry", *words])
        return result.exit_code, result.output

    return run


MOUNTED = {"argparse": in_argparse, "click": in_click}


@pytest.fixture(params=MOUNTED)
def mounted(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Callable[[Client], Run]:
    return lambda client: MOUNTED[request.param](client, capsys)


def test_a_person_looks_agrees_and_says_no(
    device: Device, mounted: Callable[[Client], Run]
) -> None:
    client = device.open()
    run = mounted(client)
    asks = "This app asks about: settings."
    budget = "Privacy budget: ε = 0 of 8 spent, 8 left."
    off = f"Telemetry is off: you were not asked yet.\n{asks}\n{budget}\n"
    assert run("status") == (0, off)
    assert run("on") == (0, "Telemetry is on: you agreed.\n")
    client.record("settings", SETTINGS)
    _, said = run("status")
    assert "1 report waits, the next one until " in said
    assert "flush(" not in said
    assert run("off") == (0, "Telemetry is off: you said no.\n")
    assert client.health().waiting == 0


def test_a_yes_where_the_machine_says_no_is_kept_and_said(
    device: Device, mounted: Callable[[Client], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    run = mounted(device.open())
    assert run("on") == (0, "Your yes is stored. Telemetry is off: DO_NOT_TRACK is set.\n")


def test_what_cannot_be_kept_is_an_exit_code_and_a_sentence(
    device: Device, mounted: Callable[[Client], Run]
) -> None:
    client = device.open()
    client.close()
    run = mounted(client)
    assert run("on") == (1, "This did not work: this client is closed.\n")
    asks = "This app asks about: settings."
    assert run("status") == (0, f"Telemetry is off: the app has closed it.\n{asks}\n")


def test_an_app_without_questions_has_a_status(
    make_device: MakeDevice, mounted: Callable[[Client], Run]
) -> None:
    device = make_device()
    device.shipped = ()
    _, said = mounted(device.granted())("status")
    assert said.splitlines()[0] == "Telemetry is off: this app asks nothing now."


@pytest.mark.slow
def test_show_opens_the_page_and_ends_with_ctrl_c(
    device: Device, mounted: Callable[[Client], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[bytes] = []

    def read(url: str) -> None:
        address = urlsplit(url)
        connection = HTTPConnection(address.netloc, timeout=120)
        connection.request("GET", address.path)
        pages.append(connection.getresponse().read())
        connection.close()

    def interrupted(event: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread() is threading.main_thread() and pages:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return wait(event, timeout)

    wait = threading.Event.wait
    monkeypatch.setattr(webbrowser, "open", read)
    monkeypatch.setattr(threading.Event, "wait", interrupted)
    code, said = mounted(device.open())("show")
    assert b"What this app reports" in pages[0]
    assert code == 0
    assert said.startswith("http://127.0.0.1:")
    assert "Press Ctrl-C to stop." in said


def test_help_says_what_each_command_does(device: Device, mounted: Callable[[Client], Run]) -> None:
    code, said = mounted(device.open())("--help")
    assert code == 0
    assert "See and stop what this app reports." in said
    assert all(word in said for word in ("status", "on", "off", "show", "in a browser"))
