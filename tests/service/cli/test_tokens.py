"""`deniable access tokens`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.processes.deniable_command import Deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def labels(deniable: Deniable, *options: str) -> list[str]:
    rows = deniable.json("access", "tokens", "list", *options)["tokens"]
    return [row["label"] for row in rows]


def test_a_new_token_is_printed_alone_so_that_a_script_can_keep_it(deniable: Deniable) -> None:
    printed = deniable.done("access", "tokens", "new", "--role", "viewer", "--label", "Grafana")
    assert printed.startswith("dn_")
    assert printed.count("\n") == 1


def test_tokens_are_listed_without_the_token(deniable: Deniable) -> None:
    token = deniable.done("access", "tokens", "new", "--role", "analyst", "--label", "Ana").strip()
    shown = deniable.done("access", "tokens", "list")
    assert "Ana" in shown
    assert token not in shown


@pytest.mark.slow
def test_commands_that_open_the_directory_leave_no_token_behind(deniable: Deniable) -> None:
    deniable.done("collections", "list")
    deniable.done("access", "tokens", "list")
    assert labels(deniable, "--all") == ["deniable init"]


@pytest.mark.slow
def test_a_revoked_token_is_listed_only_on_request(deniable: Deniable) -> None:
    made = deniable.json("access", "tokens", "new", "--role", "viewer", "--label", "old")
    assert deniable.done("access", "tokens", "revoke", str(made["id"])) == f"Revoked {made['id']}\n"
    assert "old" not in labels(deniable)
    assert "old" in labels(deniable, "--all")


def test_revoking_nothing_is_refused(deniable: Deniable) -> None:
    deniable.refused("access", "tokens", "revoke", "0123456789ab")


@pytest.mark.slow
def test_an_expiry_is_shown_as_a_moment(deniable: Deniable) -> None:
    deniable.done(
        "access", "tokens", "new", "--role", "viewer", "--label", "short", "--expires", "1"
    )
    assert "UTC" in deniable.done("access", "tokens", "list")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--role", "root", "--label", "x"),
        ("--role", "viewer"),
        ("--label", "x"),
        ("--role", "viewer", "--label", "x", "--no"),
    ],
)
def test_wrong_usage_ends_with_2(deniable: Deniable, arguments: tuple[str, ...]) -> None:
    assert deniable("access", "tokens", "new", *arguments).exit_code == 2
