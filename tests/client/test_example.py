"""The example app: a person reads, switches on, answers, and switches off."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from urllib.parse import urlencode

import pytest

from support.builders.client_world import URL, Device, Operator, manifest

EXAMPLE = Path(__file__).parents[2] / "client" / "examples" / "consent_switch.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("consent_switch", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["consent_switch"] = module
    spec.loader.exec_module(module)
    return module


class Browser:
    """Reads pages and presses buttons."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str = "/") -> tuple[int, str]:
        return self._request("GET", path, None, {})

    def post(self, path: str, *, origin: str | None = None, **form: str) -> int:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if origin:
            headers["Origin"] = origin
        return self._request("POST", path, urlencode(form), headers)[0]

    def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


@pytest.fixture
def person(device: Device, example: ModuleType) -> Iterator[Browser]:
    """A browser on the running app."""
    server = example.make_server(example.App(device.open()))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Browser(server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


def test_nothing_is_recorded_before_the_switch_is_on(person: Browser, device: Device) -> None:
    assert person.post("/settings", dark_mode="on") == 303
    _, page = person.get()
    assert "no-consent" in page
    assert "Telemetry: unknown" in page
    assert device.clients[-1].budget().spent == 0


def test_a_person_switches_on_and_sees_what_waits(person: Browser, device: Device) -> None:
    person.post("/consent", answer="granted")
    person.post("/settings", dark_mode="on")
    _, page = person.get()
    assert "queued" in page
    assert "Telemetry: granted" in page
    assert "Reports waiting: 1" in page
    assert "at most 73.2 % sure" in page
    device.clients[-1].flush(early=True)
    assert "Reports that left this device: 1" in person.get()[1]


def test_a_person_switches_off_and_what_waits_is_gone(person: Browser, device: Device) -> None:
    person.post("/consent", answer="granted")
    person.post("/settings", beta="on")
    person.post("/consent", answer="denied")
    _, page = person.get()
    assert "Telemetry: denied" in page
    assert "Reports waiting: 0" in page
    assert device.clients[-1].flush(early=True).sent == 0


def test_another_site_cannot_press_the_switch(person: Browser, device: Device) -> None:
    assert person.post("/consent", answer="granted", origin="https://elsewhere.example") == 400
    assert device.clients[-1].consent() == "unknown"


@pytest.mark.parametrize("answer", ["", "maybe", "<script>"])
def test_nonsense_is_no_answer(person: Browser, device: Device, answer: str) -> None:
    person.post("/consent", answer=answer)
    assert device.clients[-1].consent() == "unknown"
    assert person.get("/nowhere")[0] == 404
    assert person.post("/nowhere") == 400


def heed_interrupts() -> None:
    """A shell's background job ignores SIGINT, and so would all its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.processes
def test_it_runs_from_the_command_line(operator: Operator, tmp_path: Path) -> None:
    shipped = tmp_path / "settings.manifest"
    shipped.write_bytes(operator.sign(manifest()))
    command = [sys.executable, str(EXAMPLE), URL, operator.trust, str(shipped)]
    state = str(tmp_path / "app.db")
    app = subprocess.Popen(
        [*command, "--state", state, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    try:
        assert app.stdout is not None
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", app.stdout.readline())
        assert port
        status, page = Browser(int(port[1])).get()
        assert (status, "Which settings do people turn on?" in page) == (200, True)
    finally:
        os.kill(app.pid, signal.SIGINT)
        app.communicate(timeout=120)
    assert app.returncode == 0
    assert Path(state).is_file()
