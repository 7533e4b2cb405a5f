"""The address that devices are sent to: asked for, derived, kept, and held against the service."""

from __future__ import annotations

import base64
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.settings_sources import keep
from deniable_aggregator.operations.doctor import addresses
from deniable_aggregator.operations.doctor.addresses import ask
from deniable_aggregator.operations.process.serving import free_port
from deniable_gateway.errors import SettingsError
from support.processes.deniable_command import SETTINGS_TOML, Deniable

PUBLIC = "https://telemetry.example.org"
MOVED = "https://stats.example.net"


class Web:
    """Who answers where; nothing leaves this process."""

    def __init__(self) -> None:
        self.lists: dict[str, bytes] = {}
        self.asked: list[str] = []

    def __call__(self, origin: str) -> bytes | None:
        self.asked.append(origin)
        return self.lists.get(origin)


@pytest.fixture(autouse=True)
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    found = Web()
    monkeypatch.setattr(addresses, "ask", found)
    return found


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return Deniable(tmp_path)


@pytest.fixture
def other_deniable(tmp_path: Path) -> Deniable:
    """Somebody else's service."""
    folder = tmp_path / "other"
    folder.mkdir()
    command = Deniable(folder)
    command.prepare()
    return command


def key_list(deniable: Deniable) -> bytes:
    """What the service answers at /v1/keys."""
    from deniable_aggregator.cli.command_client import local

    with local(Settings(data=deniable.data)) as client:
        return client.keys()


def kept(deniable: Deniable) -> dict[str, Any]:
    return tomllib.loads((deniable.data / "deniable.toml").read_text())


def applied(deniable: Deniable, *options: str, toml: str = SETTINGS_TOML) -> dict[str, Any]:
    path = deniable.write("settings.toml", toml)
    return deniable.json("collections", "apply", path, "--key", deniable.key, *options)


def warnings(document: dict[str, Any]) -> list[str]:
    """The findings on the address, except that other machines cannot reach it."""
    [collection] = document["collections"]
    found = [each["message"] for each in collection["findings"] if each["field"] == "ingest"]
    return [each for each in found if "only this machine" not in each]


def ingest(deniable: Deniable) -> list[str]:
    envelope = json.loads(deniable.done("collections", "export", "settings"))
    named = json.loads(base64.b64decode(envelope["payload"]))["ingest"]
    assert isinstance(named, list)
    return named


class TestSettings:
    def test_the_public_url_is_by_default_the_address_that_is_listened_on(self) -> None:
        assert Settings().public_url == "http://127.0.0.1:8000"
        assert Settings(port=8765).public_url == "http://127.0.0.1:8765"
        assert Settings(host="0.0.0.0", port=8765).public_url == "http://127.0.0.1:8765"  # noqa: S104  (no socket is opened)
        assert Settings(host="::1").public_url == "http://[::1]:8000"

    def test_it_follows_host_and_port_only_where_it_was_their_address(self) -> None:
        assert Settings().listening("127.0.0.1", 8765).public_url == "http://127.0.0.1:8765"
        assert Settings(public_url=PUBLIC).listening("127.0.0.1", 8765).public_url == PUBLIC
        mapped = Settings(public_url="http://localhost:9000")
        assert mapped.listening("127.0.0.1", 8765).public_url == "http://localhost:9000"

    def test_what_init_derived_follows_the_environment(self, tmp_path: Path) -> None:
        keep(tmp_path, {"public_url": "http://127.0.0.1:8000"})
        environ = {"DENIABLE_DATA": str(tmp_path), "DENIABLE_PORT": "8765"}
        assert Settings.load(environ).public_url == "http://127.0.0.1:8765"

    def test_what_somebody_chose_does_not(self, tmp_path: Path) -> None:
        keep(tmp_path, {"public_url": PUBLIC, "port": 9000})
        environ = {"DENIABLE_DATA": str(tmp_path), "DENIABLE_PORT": "8765"}
        assert Settings.load(environ).public_url == PUBLIC

    def test_a_child_process_gets_the_same(self) -> None:
        settings = Settings(public_url=PUBLIC).listening("127.0.0.1", 8765)
        assert Settings.load(settings.environ()) == settings


class TestInit:
    def test_it_keeps_the_address_that_it_derived(self, deniable: Deniable) -> None:
        assert '"http://127.0.0.1:8000", trust="ed25519:' in deniable.done("init")
        assert kept(deniable) == {"public_url": "http://127.0.0.1:8000"}

    @pytest.mark.slow
    def test_it_keeps_the_port_of_its_environment_for_later_commands(
        self, deniable: Deniable
    ) -> None:
        deniable.environ["DENIABLE_PORT"] = "8765"
        deniable.done("init")
        del deniable.environ["DENIABLE_PORT"]
        assert kept(deniable) == {"public_url": "http://127.0.0.1:8765", "port": 8765}
        applied(deniable)
        assert ingest(deniable) == ["http://127.0.0.1:8765"]

    @pytest.fixture
    def terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("deniable_aggregator.cli.init._is_terminal", lambda: True)

    def answered(self, deniable: Deniable, said: str, *options: str) -> str:
        from click.testing import CliRunner

        from deniable_aggregator.cli import main

        result = CliRunner(env=deniable.environ).invoke(main, ["init", *options], input=said)
        assert result.exit_code == 0, result.output
        return result.output

    @pytest.mark.usefixtures("terminal")
    def test_it_asks_on_a_terminal(self, deniable: Deniable) -> None:
        assert "[http://127.0.0.1:8000]" in self.answered(deniable, f"{PUBLIC}/\n")
        assert kept(deniable)["public_url"] == PUBLIC

    @pytest.mark.usefixtures("terminal")
    def test_an_empty_answer_takes_the_address_that_is_shown(self, deniable: Deniable) -> None:
        self.answered(deniable, "\n")
        assert kept(deniable)["public_url"] == "http://127.0.0.1:8000"

    @pytest.mark.usefixtures("terminal")
    def test_it_does_not_ask_for_what_it_was_given(self, deniable: Deniable) -> None:
        assert "public URL" not in self.answered(deniable, "", "--public-url", PUBLIC)
        assert kept(deniable)["public_url"] == PUBLIC

    @pytest.mark.parametrize(
        "url",
        [
            "http://telemetry.example.org",
            "https://telemetry.example.org/base",
            "telemetry.example.org",
        ],
    )
    def test_an_address_that_no_device_accepts_prepares_nothing(
        self, deniable: Deniable, url: str
    ) -> None:
        assert "public_url must" in deniable.refused("init", "--public-url", url)
        assert not deniable.data.exists()


class TestApply:
    def test_an_address_that_does_not_answer_is_warned_of(
        self, deniable: Deniable, web: Web
    ) -> None:
        deniable.prepare("--public-url", PUBLIC)
        [said] = warnings(applied(deniable))
        assert said.startswith(f"{PUBLIC} does not answer with a key list: no device can report")
        assert web.asked == [PUBLIC]

    @pytest.mark.slow
    def test_another_services_keys_are_warned_of(
        self, deniable: Deniable, other_deniable: Deniable, web: Web
    ) -> None:
        deniable.prepare("--public-url", PUBLIC)
        web.lists[PUBLIC] = key_list(other_deniable)
        [said] = warnings(applied(deniable))
        assert said.startswith(f"{PUBLIC} answers with another service's keys: no device")

    def test_somebody_elses_page_is_no_key_list(self, deniable: Deniable, web: Web) -> None:
        deniable.prepare("--public-url", PUBLIC)
        web.lists[PUBLIC] = b"<html>Welcome to our hotel</html>"
        [said] = warnings(applied(deniable, "--dry-run"))
        assert "does not answer with a key list" in said

    def test_an_address_that_leads_here_is_fine(self, deniable: Deniable, web: Web) -> None:
        deniable.prepare("--public-url", PUBLIC)
        web.lists[PUBLIC] = key_list(deniable)
        assert warnings(applied(deniable)) == []

    @pytest.mark.slow
    def test_the_wrong_address_of_an_unused_collection_is_mended_by_replace(
        self, deniable: Deniable
    ) -> None:
        deniable.prepare()
        first = applied(deniable)["collections"][0]["collection"]
        deniable.environ["DENIABLE_PUBLIC_URL"] = PUBLIC
        assert applied(deniable)["created"] is False
        assert ingest(deniable) == ["http://127.0.0.1:8000"]
        document = applied(deniable, "--replace")
        assert document["created"] is True
        assert document["moved_from"] == ["http://127.0.0.1:8000"]
        assert document["collections"][0]["collection"] == first
        assert document["collections"][0]["version"] == 2
        assert ingest(deniable) == [PUBLIC]
        again = applied(deniable, "--replace")
        assert (again["created"], again["moved_from"]) == (False, [])

    def test_a_text_that_names_another_address_moves_the_collection(
        self, deniable: Deniable
    ) -> None:
        deniable.prepare("--public-url", PUBLIC)
        applied(deniable)
        path = deniable.write("settings.toml", f'ingest = ["{MOVED}"]\n' + SETTINGS_TOML)
        said = deniable.done("collections", "apply", path, "--key", deniable.key)
        assert f"It moves from {PUBLIC} to {MOVED}, for apps that list both." in said
        assert ingest(deniable) == [MOVED]

    def test_another_address_of_this_command_moves_nothing(self, deniable: Deniable) -> None:
        deniable.prepare("--public-url", PUBLIC)
        applied(deniable)
        deniable.environ["DENIABLE_PUBLIC_URL"] = MOVED
        longer = SETTINGS_TOML.replace("Which settings", "Which of the settings")
        assert applied(deniable, toml=longer)["created"] is True
        assert ingest(deniable) == [PUBLIC]


class TestDoctor:
    def said(self, deniable: Deniable) -> list[tuple[str, str]]:
        checks = json.loads(deniable("doctor", "--json").stdout)["checks"]
        return [(each["level"], each["message"]) for each in checks if each["what"] == "address"]

    def test_where_nothing_runs_nothing_has_to_answer(self, deniable: Deniable) -> None:
        deniable.prepare("--public-url", PUBLIC)
        assert self.said(deniable) == []

    @pytest.mark.slow
    def test_another_services_keys_fail(
        self, deniable: Deniable, other_deniable: Deniable, web: Web
    ) -> None:
        deniable.prepare("--public-url", PUBLIC)
        web.lists[PUBLIC] = key_list(other_deniable)
        [(level, message)] = self.said(deniable)
        assert level == "fail"
        assert "another service's keys" in message
        assert deniable("doctor").exit_code == 1

    @pytest.mark.slow
    def test_the_addresses_of_open_collections_are_asked_too(
        self, deniable: Deniable, other_deniable: Deniable, web: Web
    ) -> None:
        deniable.prepare("--public-url", PUBLIC)
        web.lists[PUBLIC] = key_list(deniable)
        applied(deniable)
        deniable.environ["DENIABLE_PUBLIC_URL"] = MOVED
        web.lists |= {MOVED: key_list(deniable), PUBLIC: key_list(other_deniable)}
        assert {level for level, _ in self.said(deniable)} == {"fail", "ok"}
        assert ("ok", f"{MOVED} leads here") in self.said(deniable)


def test_where_nobody_listens_there_is_no_answer() -> None:
    assert ask(f"http://127.0.0.1:{free_port()}") is None


def test_a_public_url_of_another_scheme_is_refused() -> None:
    with pytest.raises(SettingsError, match="public_url must be"):
        Settings(public_url="ftp://telemetry.example.org")
