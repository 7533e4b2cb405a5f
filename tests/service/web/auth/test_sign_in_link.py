"""The first sign-in link reaches a terminal or the owner's file, and never a log."""

from __future__ import annotations

import io
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli.users import reachable as reachable
from deniable_aggregator.operations.process import running_server, sign_in_link
from deniable_aggregator.operations.process.serving import Server
from support.processes.deniable_command import Deniable, wait_until

SECRET = "s" * 43


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def server(link: str | None = SECRET) -> Server:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Server(process, address="http://127.0.0.1:9", token="t", link=link)


def streams(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, err: io.StringIO) -> None:
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)


def test_without_a_terminal_it_is_in_a_file_of_the_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = io.StringIO(), io.StringIO()
    streams(monkeypatch, out, err)
    settings = Settings(data=tmp_path, public_url="https://telemetry.example.org/")
    file = tmp_path / sign_in_link.NAME
    file.write_text("left over, and open to all")
    with sign_in_link.publish_link(settings, server()):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().splitlines() == [
            f"https://telemetry.example.org/sign-in?link={SECRET}",
            f"http://127.0.0.1:9/sign-in?link={SECRET}",
        ]
    assert list(tmp_path.iterdir()) == []
    assert str(file) in out.getvalue()
    assert SECRET not in out.getvalue() + err.getvalue()


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_a_terminal_gets_it_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    both = {"stdout": io.StringIO(), "stderr": io.StringIO(), which: Terminal()}
    streams(monkeypatch, both["stdout"], both["stderr"])
    with sign_in_link.publish_link(Settings(data=tmp_path), server()):
        assert list(tmp_path.iterdir()) == []
    shown = {name for name, stream in both.items() if SECRET in stream.getvalue()}
    assert shown == {which}


def test_a_file_that_another_server_wrote_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams(monkeypatch, io.StringIO(), io.StringIO())
    with sign_in_link.publish_link(Settings(data=tmp_path), server()):
        (tmp_path / sign_in_link.NAME).write_text("another")
    assert (tmp_path / sign_in_link.NAME).read_text() == "another"


def test_where_somebody_signed_in_before_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Terminal()
    streams(monkeypatch, out, Terminal())
    with sign_in_link.publish_link(Settings(data=tmp_path), server(link=None)):
        assert list(tmp_path.iterdir()) == []
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("origin", "address", "shown"),
    [
        ("https://a.example/", "http://127.0.0.1:8000", "https://a.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("http://127.0.0.1:8000", "/srv/data", "http://127.0.0.1:8000"),
    ],
)
def test_users_link_names_the_public_address_where_there_is_one(
    origin: str, address: str, shown: str
) -> None:
    assert reachable(origin, address) == shown


@pytest.mark.exhaustive
@pytest.mark.processes
def test_a_service_without_a_terminal_logs_no_link(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.done("init")
    file = deniable.data / sign_in_link.NAME
    with deniable.process("serve", "--port", "0", "--access-log") as process:
        wait_until("the link", file.exists)
        live = running_server.read(deniable.data)
        assert live is not None
        [link] = [line for line in file.read_text().splitlines() if line.startswith(live.address)]
        page = httpx.get(link, timeout=90.0, trust_env=False)
        assert "This link signs you in once" in page.text
        process.terminate()
        said, logged = process.communicate(timeout=90.0)
    assert "link=" not in said + logged
    assert not file.exists()
