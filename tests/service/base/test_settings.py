"""Settings: their sources, their precedence, and the errors of mistakes."""

from __future__ import annotations

import stat
from dataclasses import fields, replace
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.base.settings_sources import REMOVED, keep
from deniable_gateway.errors import SettingsError

MOVED = (Path(__file__).parents[3] / "docs/reference/moved-settings.md").read_text(encoding="utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "deniable.toml"
    path.write_text(text)
    return path


def test_the_defaults_need_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.load({}) == Settings()
    assert Settings().database == Path("data/deniable.db")


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    written(tmp_path, 'port = 9000\nhost = "::"\ntrusted_proxy = true\n')
    environ = {"DENIABLE_DATA": str(tmp_path), "DENIABLE_PORT": "9100"}
    found = Settings.load(environ)
    assert found == Settings(data=tmp_path, port=9100, host="::", trusted_proxy=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", True), ("On", True), ("1", True), (" TRUE ", True), ("no", False), ("OFF", False)],
)
def test_a_switch_takes_the_words_that_people_write(text: str, value: bool) -> None:
    assert Settings.load({"DENIABLE_TRUSTED_PROXY": text}).trusted_proxy is value


def test_what_is_given_to_the_constructor_is_checked_too() -> None:
    with pytest.raises(SettingsError, match="workers must be a whole number, 1…64, got 0"):
        Settings(workers=0)
    with pytest.raises(SettingsError, match="must be admin, loopback or off, got 'all'"):
        replace(Settings(), metrics="all")  # type: ignore[arg-type]  # a wrong type is the point


def test_a_named_file_is_read_instead_of_the_one_in_the_directory(tmp_path: Path) -> None:
    path = written(tmp_path, f'data = "{tmp_path / "d"}"\nrotate_keys_days = 4\n')
    assert Settings.load({}, path) == Settings(data=tmp_path / "d", rotate_keys_days=4)


def test_the_file_of_a_directory_below_home_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemd and Docker pass the tilde on as it is written."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    written(tmp_path / "data", "port = 9000\n")
    settings = Settings.load({"DENIABLE_DATA": "~/data"})
    assert (settings.data, settings.port) == (tmp_path / "data", 9000)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no settings file"):
        Settings.load({}, tmp_path / "missing.toml")


def test_settings_go_through_the_environment_to_a_child_unchanged(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path,
        store=f"sqlite:///{tmp_path}/elsewhere.db",
        public_url="https://telemetry.example.org",
        port=9000,
        trusted_proxy=True,
        reports_per_minute_per_prefix=7,
    )
    assert Settings.load(settings.environ()) == settings


def test_what_others_read_from_the_environment_is_left_alone() -> None:
    environ = {"DENIABLE_TOKEN": "dn_x", "DENIABLE_URL": "http://x", "DENIABLE_DISABLE": "1"}
    assert Settings.load({**environ, "DENIABLE_POLICY": "/etc/policy"}) == Settings()


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"DENIABLE_PROT": "1"}, "DENIABLE_PROT is not a setting; did you mean DENIABLE_PORT?"),
        ({"DENIABLE_PORT": "eight"}, "port must be a whole number, 1…65535, got 'eight'"),
        ({"DENIABLE_PORT": ""}, "port must be a whole number, 1…65535, got ''"),
        ({"DENIABLE_PORT": "0"}, "port must be a whole number, 1…65535, got '0'"),
        ({"DENIABLE_PORT": "65536"}, "port must be a whole number, 1…65535, got '65536'"),
        ({"DENIABLE_TRUSTED_PROXY": "maybe"}, "trusted_proxy must be true or false, got 'maybe'"),
        ({"DENIABLE_DATA": " "}, "data must be a directory, got ' '"),
        ({"DENIABLE_PUBLIC_URL": "telemetry"}, "public_url must be http"),
        ({"DENIABLE_PUBLIC_URL": "https://a.example/x"}, "without a path"),
        ({"DENIABLE_WORKERS": "0"}, "workers must be a whole number, 1…64, got '0'"),
        ({"DENIABLE_WORKERS": "2"}, "must be 1 with SQLite, which one process writes at a time"),
        (
            {"DENIABLE_REPORTS_PER_MINUTE_PER_PREFIX": "0"},
            "must be a whole number, 1…1000000000, got '0'",
        ),
    ],
)
def test_a_mistake_in_the_environment_is_told_with_its_cure(
    environ: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as error:
        Settings.load(environ)
    assert message in str(error.value)


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_removed_setting_is_an_error_that_names_its_successor(name: str, tmp_path: Path) -> None:
    variable = f"DENIABLE_{name.upper()}"
    with pytest.raises(SettingsError) as in_environment:
        Settings.load({variable: ""})
    assert f"{variable} is no longer a setting: {REMOVED[name]}" in str(in_environment.value)
    path = written(tmp_path, f"{name} = 1\n")
    with pytest.raises(SettingsError) as in_file:
        Settings.load({}, path)
    assert f"{name} in {path} is no longer a setting: {REMOVED[name]}" in str(in_file.value)
    assert f"| `{variable}` |" in MOVED


def test_no_removed_setting_is_one_and_there_are_seventeen() -> None:
    names = {field.name for field in fields(Settings)}
    assert len(names) == 17
    assert not names & REMOVED.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "did you mean port?"),
        ('port = "1.5"', "port must be a whole number"),
        ("port = 1.5", "port must be a whole number, 1…65535, got 1.5"),
        ("port = true", "port must be a whole number, 1…65535, got True"),
        ("host = 5", "host must be a string, got 5"),
        ("trusted_proxy = 2", "trusted_proxy must be true or false"),
        ("port = = 1", "cannot be read"),
        ('data = "/elsewhere"', "data cannot be set in"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_cure(
    tmp_path: Path, text: str, message: str
) -> None:
    written(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        Settings.load({"DENIABLE_DATA": str(tmp_path)})
    assert message in str(error.value)


def test_a_postgresql_address_is_shared_and_not_shown() -> None:
    for address in ("postgresql://me:secret@db/x", "postgres://me:secret@db/x"):
        settings = Settings(store=address, workers=4)
        assert settings.shared
        assert "secret" not in repr(settings)
        assert Settings.load(settings.environ()) == settings
        with pytest.raises(SettingsError, match="no database file"):
            _ = settings.database


def test_what_is_kept_in_the_file_is_the_owners_alone_and_leaves_the_rest(tmp_path: Path) -> None:
    written(tmp_path, 'port = 9000\nstore = "postgresql://old"\n')
    keep(tmp_path, {"store": 'postgresql://a:"b@c/d', "public_url": "https://t.example"})
    assert stat.S_IMODE((tmp_path / "deniable.toml").stat().st_mode) == 0o600
    found = Settings.load({"DENIABLE_DATA": str(tmp_path)})
    assert (found.port, found.store) == (9000, 'postgresql://a:"b@c/d')
    assert found.public_url == "https://t.example"


def test_nothing_to_keep_makes_no_file(tmp_path: Path) -> None:
    keep(tmp_path, {})
    assert list(tmp_path.iterdir()) == []
