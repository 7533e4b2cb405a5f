"""`deniable keys`."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deniable_aggregator.keys import DELEGATION_SECONDS
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import DELEGATION_TYPE
from support.processes.deniable_command import Deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def states(deniable: Deniable) -> list[tuple[int, int, str]]:
    return [
        (key["id"], key["suite"], key["state"]) for key in deniable.json("keys", "list")["keys"]
    ]


def test_a_fresh_directory_has_one_active_key(deniable: Deniable) -> None:
    assert states(deniable) == [(1, 1, "active")]


def test_list_shows_states_expiry_and_the_head_of_the_log(deniable: Deniable) -> None:
    shown, listed = deniable.done("keys", "list"), deniable.json("keys", "list")
    assert "1 (X25519)" in shown
    log = listed["log"]
    assert f"Signed when the log had {log['size']} entries, ending in {log['head']}" in shown
    assert "List 1, valid until" in shown


@pytest.mark.slow
def test_rotate_makes_a_pending_key_once(deniable: Deniable) -> None:
    assert "Key 2 of suite 1 is used from" in deniable.done("keys", "rotate")
    deniable.done("keys", "rotate")
    assert states(deniable) == [(1, 1, "active"), (2, 1, "pending")]


@pytest.mark.slow
def test_rotate_now_uses_it_at_once(deniable: Deniable) -> None:
    made = deniable.json("keys", "rotate", "--now", "--yes")
    assert (made["id"], made["state"]) == (2, "active")
    assert states(deniable) == [(1, 1, "expired"), (2, 1, "active")]


def test_rotate_to_suite_2_keeps_suite_1(deniable: Deniable) -> None:
    deniable.done("keys", "rotate", "--suite", "2", "--now", "--yes")
    assert states(deniable) == [(1, 1, "active"), (2, 2, "active")]


def test_delegate_renews_the_operators_word(deniable: Deniable) -> None:
    path = deniable.data / "keys" / "delegation.json"
    before = path.read_bytes()
    expires = deniable.json("keys", "delegate")["expires"]
    assert expires == pytest.approx(time.time() + DELEGATION_SECONDS, abs=60)
    dsse.verify(
        path.read_bytes(),
        payload_type=DELEGATION_TYPE,
        trusted=[(deniable.data / "trust").read_text().strip()],
    )
    assert path.read_bytes() != before or expires
    assert "may sign key lists until" in deniable.done("keys", "delegate")


def test_delegate_takes_the_operators_key_only(deniable: Deniable) -> None:
    other = deniable.folder / "other"
    Deniable(other).done("init", "--data", other / "data", "--operator-key", other / "o.key")
    assert "does not match" in deniable.refused("keys", "delegate", "--key", other / "o.key")
