"""One line, one file: `Client.from_file("app.deniable", app=…, ceiling=…)`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from deniable_client import Client, ConfigurationError, Outcome
from deniable_client.testing import RecordingTransport
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import CEILING, SETTINGS, START, URL, Operator, manifest


@pytest.fixture
def shipped(operator: Operator, tmp_path: Path) -> Path:
    file = tmp_path / "app.deniable"
    envelopes = (operator.sign(manifest()),)
    file.write_bytes(AppFile((URL,), (operator.trust,), envelopes).encode())
    return file


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def start(file: Any, **more: Any) -> Client:
    given: dict[str, Any] = {"app": "myapp", "ceiling": CEILING, "environ": {}}
    seams = {"transport": RecordingTransport(), "clock": lambda: START, "background": False}
    return Client.from_file(file, **(given | seams | more))


def test_an_app_that_ships_the_file_records(shipped: Path) -> None:
    with start(shipped) as client:
        client.consent("granted")
        assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_the_file_may_be_given_as_bytes(shipped: Path) -> None:
    with start(shipped.read_bytes(), state=":memory:") as client:
        assert client.status().silences[0].reason == "not-asked"


@pytest.mark.skipif(platformdirs.user_state_dir("x", False) == "", reason="no home")
def test_the_state_lies_where_the_system_keeps_that_of_the_app(shipped: Path, home: Path) -> None:
    with start(shipped) as client:
        client.consent("granted")
    place = platformdirs.user_state_path("myapp", appauthor=False)
    assert (place / "deniable.db").is_file()


def test_a_state_that_the_app_names_wins(shipped: Path, home: Path, tmp_path: Path) -> None:
    with start(shipped, state=tmp_path / "own.db") as client:
        client.consent("granted")
    assert (tmp_path / "own.db").is_file()
    assert not home.exists()


FAULTS = {
    "nowhere.deniable": "No such file",
    b"{}": '"format"',
    b"\n": "it is empty",
    '{"format": "deniable-app/1"}': "this is the text of a file: give its path, or its bytes",
    b"[": "not JSON",
    b'{"format":"deniable-app/9"}': "a later version",
    b'{"format":"deniable-app/1","url":[],"trust":[],"manifests":[]}': "url of an app file",
    "app\0.deniable": "null byte",
    "app\ud800.deniable": "surrogates not allowed",
}


@pytest.mark.parametrize("file", FAULTS)
def test_a_file_that_cannot_be_used_disables_and_says_so_once(
    file: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), start(file) as client:
        assert client.record("settings", SETTINGS) is Outcome.DISABLED
        assert client.record("settings", SETTINGS) is Outcome.DISABLED
        assert client.status().silences[0].reason == "misconfigured"
    [said] = caplog.messages
    assert FAULTS[file] in said
    assert "deniable collections export --app" in said
    assert said.isprintable()


class OddPath:
    """A host's own path, which raises."""

    def __fspath__(self) -> str:
        raise RuntimeError("odd")


def test_a_path_of_the_app_s_own_may_raise_anything(shipped: Path) -> None:
    for given in ({"file": OddPath()}, {"file": shipped, "state": OddPath()}):
        with start(**given) as client:
            assert client.record("settings", SETTINGS) is Outcome.DISABLED


@pytest.mark.parametrize("wrong", [{"file": 5}, {"file": "nowhere.deniable", "state": 5}])
def test_a_path_of_a_wrong_type_is_a_type_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        start(**wrong)


def test_strict_raises_instead() -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.deniable"):
        start("nowhere.deniable", strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("app", ["", "../other", "my app", None, "x" * 65, "1st"])
def test_a_name_that_no_directory_should_have_is_refused(shipped: Path, app: object) -> None:
    with pytest.raises(ConfigurationError, match="app must be"):
        start(shipped, app=app, strict=True)
    with start(shipped, app=app) as client:
        assert client.record("settings", SETTINGS) is Outcome.DISABLED


def test_a_system_without_a_home_disables(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*given: object, **more: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(platformdirs, "user_state_path", homeless)
    with pytest.raises(ConfigurationError, match="give state="):
        start(shipped, strict=True)


def test_the_ceiling_of_the_app_bounds_what_the_file_asks(shipped: Path) -> None:
    with start(shipped, ceiling="2") as client:
        assert client.record("settings", SETTINGS) is Outcome.DISABLED


def test_a_manifest_that_the_key_in_the_file_did_not_sign_disables(
    operator: Operator, tmp_path: Path
) -> None:
    other = AppFile((URL,), (Operator().trust,), (operator.sign(manifest()),)).encode()
    with start(other) as client:
        assert client.record("settings", SETTINGS) is Outcome.DISABLED
