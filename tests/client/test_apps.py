"""The examples, each with consent, switch, status and page: tool, desktop app, web apps."""

from __future__ import annotations

import re
import sys
import webbrowser
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from deniable_client import testing
from deniable_client.testing import ClientForTests, FakeClock
from support.builders.client_world import START, Operator
from support.builders.example_apps import EXAMPLES, app_file, load
from support.doubles import toy_tkinter

OWN = re.compile(
    r"telemetry|client|Client|CEILING|FILE|status|consent|switch|press|render|agreed|box|textvariable|token"
)
NOT_COUNTED = re.compile(r"\s*(\"\"\"|#|from |import |def (__init__|main|create_app))")
MOST_LINES = 15


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shipped(operator: Operator, tmp_path: Path) -> Path:
    """What both apps ship: two questions that never end, as far as a test lives."""
    return app_file(operator, tmp_path / "app.deniable")


@pytest.fixture
def newcomer(shipped: Path) -> Iterator[ClientForTests]:
    """A person who was not asked yet."""
    with testing.client(shipped, consent="unknown", clock=FakeClock(START)) as client:
        yield client


@pytest.mark.parametrize("name", ["command_line", "desktop", "flask_app", "fastapi_app"])
def test_telemetry_takes_fifteen_lines_of_an_app_at_most(name: str) -> None:
    code = (EXAMPLES / f"{name}.py").read_text().partition('"""\n\n')[2]
    lines = [line for line in code.splitlines() if not NOT_COUNTED.match(line)]
    own = [line for line in lines if OWN.search(line.partition('"""')[0])]
    assert 8 <= len(own) <= MOST_LINES, "\n".join(own)


def test_the_tool_asks_once_and_is_switched(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = load("command_line")
    questions: list[str] = []

    def agree(question: str) -> str:
        questions.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", agree)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for _ in range(2):
        tool.main(["hello", "Ada", "--loud"], shipped)
    assert len(questions) == 1
    tool.main(["telemetry", "status"], shipped)
    tool.main(["telemetry", "off"], shipped)
    said = capsys.readouterr().out
    assert said.count("HELLO, ADA!") == 2
    assert "Telemetry is on: you agreed.\nThis app asks about: options, settings.\n" in said
    assert "1 report waits, the next one until" in said
    assert said.endswith("Telemetry is off: you said no.\n")


def test_the_tool_asks_nobody_on_a_build_server(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    tool = load("command_line")
    tool.main(["hello", "Ada"], shipped)
    tool.main(["telemetry", "on"], shipped)
    said = capsys.readouterr().out
    assert "Your yes is stored. Telemetry is off: this is a build server: CI is set." in said


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "tkinter", toy_tkinter)
    return load("desktop")


def test_the_desktop_app_has_a_switch_a_status_and_a_page(
    desktop: Any, newcomer: ClientForTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    settings = desktop.Settings(toy_tkinter.Tk(), newcomer)
    dark, agree, status, show = settings.widgets
    dark.press()
    assert newcomer.answers[0].outcome == "no-consent"
    assert status.options["textvariable"].get() == "Telemetry is off: you were not asked yet."
    agree.press()
    assert status.options["textvariable"].get() == "Telemetry is on: you agreed."
    dark.press()
    assert newcomer.answers[1].outcome == "queued"
    show.press()
    address = urlsplit(pages[0])
    connection = HTTPConnection(address.netloc, timeout=120)
    connection.request("GET", address.path)
    assert b"What waits on this device" in connection.getresponse().read()
    connection.close()
    agree.press()
    assert newcomer.status().consent == "denied"


def test_the_desktop_app_runs_from_its_file(desktop: Any, shipped: Path, home: Path) -> None:
    desktop.main(shipped)
    assert list(home.rglob("deniable.db"))


def test_the_flask_app_has_a_page_with_a_switch_and_its_health(newcomer: ClientForTests) -> None:
    pytest.importorskip("flask")
    app = load("flask_app").create_app(newcomer)
    browser = app.test_client()
    browser.post("/settings", data={"dark_mode": "on"})
    assert newcomer.answers[0].outcome == "no-consent"
    page = browser.get("/telemetry")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    [token] = re.findall(r'name="token" value="([^"]+)"', page.text)
    assert browser.post("/telemetry", data={"answer": "granted"}).status_code == 403
    form = {"answer": "granted", "token": token}
    assert browser.post("/telemetry", data=form).status_code == 303
    browser.post("/settings", data={"dark_mode": "on"})
    assert browser.get("/health").json["telemetry"]["waiting"] == 1


def test_the_flask_app_runs_from_its_file(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("flask")
    module = load("flask_app")
    monkeypatch.setattr(module, "FILE", shipped)
    assert module.create_app().test_client().get("/telemetry").status_code == 200


@pytest.mark.slow
def test_the_fastapi_app_has_a_page_with_a_switch_and_its_health(newcomer: ClientForTests) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    browser = TestClient(load("fastapi_app").create_app(newcomer), follow_redirects=False)
    browser.post("/settings?dark_mode=true")
    assert newcomer.answers[0].outcome == "no-consent"
    page = browser.get("/telemetry")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    [token] = re.findall(r'name="token" value="([^"]+)"', page.text)
    assert browser.post("/telemetry", data={"answer": "granted"}).status_code == 403
    form = {"answer": "granted", "token": token}
    assert browser.post("/telemetry", data=form).status_code == 303
    browser.post("/settings?dark_mode=true")
    assert browser.get("/health").json()["telemetry"]["waiting"] == 1


@pytest.mark.slow
def test_the_fastapi_app_runs_from_its_file(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    module = load("fastapi_app")
    monkeypatch.setattr(module, "FILE", shipped)
    assert TestClient(module.create_app()).get("/telemetry").status_code == 200
