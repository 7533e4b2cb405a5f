"""A session as the README shows it, and what goes wrong in one."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from support.processes.deniable_command import SETTINGS_TOML, Deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def apply(deniable: Deniable, toml: str = SETTINGS_TOML, *options: str) -> dict[str, Any]:
    path = deniable.write("settings.toml", toml)
    return deniable.json("collections", "apply", path, "--key", deniable.key, *options)


PURPOSE = ("--purpose", "Which theme do people use?")


@pytest.mark.slow
def test_the_whole_session_works_from_an_empty_directory(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    assert "trust=" in deniable.done("init")
    new = ("collections", "new", "settings", "--type", "bits", "--label", "dark", "--label", "beta")
    toml = deniable.write("settings.toml", deniable.done(*new, *PURPOSE))
    assert "answers in 1 epoch" in deniable.done("collections", "lint", toml)
    assert "is registered" in deniable.done("collections", "apply", toml, "--key", deniable.key)
    assert "settings-" in deniable.done("collections", "list")
    manifest = json.loads(deniable.done("collections", "export", "settings"))
    assert set(manifest) == {"payload", "payloadType", "signatures"}
    said = deniable.refused("estimates", "settings", code=75)
    assert said.startswith("Fewer reports than the collection's min_batch: ")


def test_init_says_what_apps_and_admins_need(tmp_path: Path) -> None:
    made = Deniable(tmp_path).json("init")
    assert set(made) == {"data", "operator_key", "trust", "admin_token"}
    assert str(made["trust"]).startswith("ed25519:")
    assert str(made["admin_token"]).startswith("dn_")
    assert made["operator_key"] == str(tmp_path / "operator.key")


def test_init_ends_with_what_comes_next(tmp_path: Path) -> None:
    *_, apply, sign_in = Deniable(tmp_path).done("init").splitlines()
    assert "deniable collections apply settings.toml" in apply
    assert sign_in == "  Open the sign-in link that `deniable serve` shows."


def test_init_keeps_everything_from_others(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.done("init")
    for path in (deniable.data, deniable.key, *(deniable.data / "keys").glob("*.key")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.slow
def test_the_public_url_is_where_collections_send_reports(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.done("init", "--public-url", "https://telemetry.example.org/")
    path = deniable.write("settings.toml")
    shown = deniable.done("collections", "apply", path, "--key", deniable.key)
    assert "every origin is loopback" not in shown
    envelope = json.loads(deniable.done("collections", "export", "settings"))
    body = json.loads(base64.b64decode(envelope["payload"]))
    assert body["ingest"] == ["https://telemetry.example.org"]


def test_a_public_url_that_is_none_prepares_nothing(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    assert "public_url" in deniable.refused("init", "--public-url", "telemetry.example.org")
    assert not deniable.data.exists()


def test_init_in_a_prepared_directory_is_refused(deniable: Deniable) -> None:
    assert "is prepared already" in deniable.refused("init")


def test_a_directory_nobody_prepared_is_named_with_the_cure(tmp_path: Path) -> None:
    assert "deniable init" in Deniable(tmp_path).refused("collections", "list")


def test_applying_the_same_file_twice_changes_nothing(deniable: Deniable) -> None:
    first, second = apply(deniable), apply(deniable)
    assert (first["created"], second["created"]) == (True, False)
    assert first["collections"] == second["collections"]


def test_a_dry_run_says_what_would_be_and_changes_nothing(deniable: Deniable) -> None:
    assert apply(deniable, SETTINGS_TOML, "--dry-run")["created"] is True
    assert deniable.json("collections", "list") == {"collections": []}


def test_a_new_text_is_the_next_version_of_the_same_collection(deniable: Deniable) -> None:
    first = apply(deniable)
    second = apply(deniable, SETTINGS_TOML.replace("Which settings", "Which of the settings"))
    (old,), (new,) = first["collections"], second["collections"]
    assert (old["version"], new["version"]) == (1, 2)
    assert old["collection"] == new["collection"]


@pytest.mark.slow
def test_what_may_not_change_takes_replace(deniable: Deniable) -> None:
    apply(deniable)
    other = deniable.write("settings.toml", SETTINGS_TOML.replace("beta", "gamma"))
    arguments = ("collections", "apply", other, "--key", deniable.key)
    said = deniable.refused(*arguments)
    assert "domain may not change" in said
    assert "--replace" in said
    for more in ([], ["--dry-run"]):
        said = deniable.refused(*arguments, "--replace", *more)
        assert "valid_from must be after 2026-01-01" in said
        assert "set it to 2026-01-02 or a later day" in said
    other.write_text(other.read_text().replace("= 2026-01-01", "= 2026-01-02"))
    deniable.done(*arguments, "--replace")
    listed = deniable.json("collections", "list")["collections"]
    assert len(listed) == 2


@pytest.mark.slow
def test_a_key_that_is_not_the_operators_registers_nothing(
    deniable: Deniable, tmp_path: Path
) -> None:
    other = Deniable(tmp_path / "other")
    other.folder.mkdir()
    other.done("init")
    path = deniable.write("settings.toml")
    deniable.refused("collections", "apply", path, "--key", other.key)
    assert deniable.json("collections", "list") == {"collections": []}


@pytest.mark.parametrize("repeat", ["once", "fresh", "memoized"])
def test_new_writes_a_collection_of_each_repeat_that_can_be_applied(
    deniable: Deniable, repeat: str
) -> None:
    labels = ("--label", "dark", "--label", "light")
    new = ("collections", "new", "theme", "--type", "choice", *labels, "--repeat", repeat)
    path = deniable.write("theme.toml", deniable(*new, *PURPOSE).stdout)
    document = deniable.json("collections", "apply", path, "--key", deniable.key)
    assert document["created"]
    assert f'repeat = "{repeat}"' in path.read_text()


DOMAINS = {
    "number": ("--low", "-0.5", "--high", "10", "--step", "0.5"),
    "record": ("--attribute", "os=mac,linux", "--attribute", "dark mode=yes,no"),
}


@pytest.mark.parametrize("kind", DOMAINS)
def test_new_writes_a_collection_of_each_domain_that_can_be_applied(
    deniable: Deniable, kind: str
) -> None:
    new = ("collections", "new", "theme", "--type", kind, *DOMAINS[kind])
    path = deniable.write("theme.toml", deniable(*new, *PURPOSE).stdout)
    assert deniable.json("collections", "apply", path, "--key", deniable.key)["created"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("bits", "--label", "a", "--low", "1"), "--low belongs to --type number, not to bits"),
        (("number", "--low", "1", "--high", "2"), "--type number needs --step"),
        (("number", "--low", "x", "--high", "2", "--step", "1"), "--low must be a number"),
        (("number", "--low", "0", "--high", "1/3", "--step", "1"), "--high must be a number"),
        (("record", "--attribute", "os"), "--attribute must be NAME=LABEL,LABEL…, got os"),
        (("choice",), "--type choice needs --label"),
    ],
)
def test_options_of_another_domain_are_wrong_usage(
    deniable: Deniable, options: tuple[str, ...], reason: str
) -> None:
    result = deniable("collections", "new", "theme", "--type", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('epsilon = "1"', 'epsilon = "21"'), "epsilon"),
        (('epsilon = "1"', 'epsilom = "1"'), "epsilon"),
        (("[domain]", "[domain"), "not TOML"),
        (("Which settings do people turn on?", "TODO"), "'TODO' is a placeholder"),
        (("2099-01-01", "2026-02-01"), "expired"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(
    deniable: Deniable, change: tuple[str, str], reason: str
) -> None:
    path = deniable.write("settings.toml", SETTINGS_TOML.replace(*change))
    said = deniable.refused("collections", "apply", path, "--key", deniable.key)
    assert reason in said


def test_lint_finds_the_ceiling_that_admits_all_files(deniable: Deniable) -> None:
    one = deniable.write("one.toml")
    two = SETTINGS_TOML.replace('"settings"', '"other"').replace('epsilon = "1"', 'epsilon = "0.5"')
    document = deniable.json("collections", "lint", one, deniable.write("two.toml", two))
    assert document["ceiling"] == {
        "epsilon_per_report": "1",
        "epsilon_permanent": "1",
        "epsilon_lifetime": "1.5",
    }


def test_apply_finds_the_operator_key_beside_the_data_directory(deniable: Deniable) -> None:
    assert deniable.json("collections", "apply", deniable.write("settings.toml"))["created"]


def test_apply_without_an_operator_key_says_where_it_looked(deniable: Deniable) -> None:
    deniable.key.unlink()
    path = deniable.write("settings.toml")
    assert str(deniable.key) in deniable.refused("collections", "apply", path)


def test_lint_prints_its_findings_and_fails_on_an_error(deniable: Deniable) -> None:
    path = deniable.write("old.toml", SETTINGS_TOML.replace("2099-01-01", "2026-02-01"))
    answer = deniable("collections", "lint", path)
    assert answer.exit_code == 1
    assert "error   expires" in answer.stdout


@pytest.mark.slow
def test_export_takes_an_id_and_a_version(deniable: Deniable) -> None:
    (made,) = apply(deniable)["collections"]
    by_id = deniable.done("collections", "export", made["collection"], "--version", "1")
    assert by_id == deniable.done("collections", "export", "settings")


@pytest.mark.slow
def test_an_unknown_collection_is_said_to_be_unknown(deniable: Deniable) -> None:
    for command in (("estimates",), ("collections", "epochs", "list"), ("collections", "export")):
        refusal = deniable.refused(*command, "nothing")
        assert "no collection has the id or name 'nothing'" in refusal
        assert "`deniable collections list` lists them" in refusal
        assert "No collection has" not in refusal


def test_an_empty_service_says_how_to_make_a_collection(deniable: Deniable) -> None:
    for command in (("collections", "list"), ("ledger",)):
        assert "`deniable collections new` writes one" in deniable.done(*command)


@pytest.mark.slow
def test_what_is_unknown_comes_with_the_command_that_lists_it(deniable: Deniable) -> None:
    (made,) = apply(deniable)["collections"]
    for command, lists in (
        ("releases show settings none", "`deniable releases list ID` lists"),
        ("access tokens revoke none", "`deniable access tokens list` lists"),
        ("access sessions end none", "`deniable access sessions list` lists"),
        ("access users remove none --yes", "users list` and `deniable access sessions list` list"),
        ("access links end settings none", "`deniable access links list ID` lists"),
        ("collections notes remove settings none", "`deniable collections notes list ID` lists"),
        ("collections alerts end settings none", "`deniable collections alerts list ID` lists"),
    ):
        refusal = " ".join(deniable.refused(*command.split()).split())
        assert f"{lists} them".replace("ID", made["collection"]) in refusal
        assert "at this address" not in refusal, command


@pytest.mark.slow
def test_a_closed_collection_is_listed_as_closed(deniable: Deniable) -> None:
    apply(deniable)
    assert deniable.json("collections", "close", "settings", "--yes")["state"] == "closed"
    (listed,) = deniable.json("collections", "list")["collections"]
    assert listed["state"] == "closed"


def test_json_and_csv_exclude_each_other(deniable: Deniable) -> None:
    assert deniable("estimates", "settings", "--json", "--csv").exit_code == 2


def test_an_argument_the_service_refuses_is_passed_on_with_its_cure(deniable: Deniable) -> None:
    apply(deniable)
    said = deniable.refused("estimates", "settings", "--from", "yesterday")
    assert "from must be an epoch index" in said


REPEATS = {
    "once": ("", "1", "1", "answers in 1 epoch"),
    "fresh": ('repeat = "fresh"\nepsilon_lifetime = "3.5"\n', "1", "3", "answers in 3 epochs"),
    "memoized": (
        'repeat = "memoized"\nepsilon_permanent = "1.5"\nepsilon_lifetime = "4"\nhold_epochs = 7\n',
        "1.5",
        "3",
        "answers in 2 holds of 7 epochs, then repeats its last",
    ),
}


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("verb", ["lint", "apply"])
def test_a_file_says_when_a_device_stops_and_what_ceiling_it_needs(
    deniable: Deniable, verb: str, repeat: str
) -> None:
    more, permanent, lifetime, words = REPEATS[repeat]
    path = deniable.write("settings.toml", more + SETTINGS_TOML)
    shown = deniable.done("collections", verb, path)
    assert f"  {repeat}: a device {words}" in shown
    limits = (
        f'epsilon_per_report="1", epsilon_permanent="{permanent}", epsilon_lifetime="{lifetime}"'
    )
    assert f"The least ceiling that admits it: Ceiling({limits})" in shown


def test_one_ceiling_admits_every_repeat_together(deniable: Deniable) -> None:
    paths = [
        deniable.write(f"{name}.toml", more + SETTINGS_TOML.replace('"settings"', f'"{name}"'))
        for name, (more, *_) in REPEATS.items()
    ]
    assert deniable.json("collections", "lint", *paths)["ceiling"] == {
        "epsilon_per_report": "1",
        "epsilon_permanent": "1.5",
        "epsilon_lifetime": "7",
    }


def test_a_ledger_group_costs_no_more_than_its_largest_lifetime(deniable: Deniable) -> None:
    more = 'ledger_group = "ui"\nrepeat = "fresh"\nepsilon_lifetime = "3"\n'
    paths = [
        deniable.write(f"{name}.toml", more + SETTINGS_TOML.replace('"settings"', f'"{name}"'))
        for name in ("one", "two")
    ]
    assert deniable.json("collections", "lint", *paths)["ceiling"]["epsilon_lifetime"] == "3"


def test_a_memoized_file_shows_both_integers_and_its_linkage(deniable: Deniable) -> None:
    path = deniable.write("settings.toml", 'repeat = "memoized"\n' + SETTINGS_TOML)
    (found,) = deniable.json("collections", "lint", path)["collections"]
    assert set(found["thresholds"]) == {"T", "A"}
    assert 0 < found["linkage"] <= 1
    assert found["answers"].startswith("answers in 2 holds of")
