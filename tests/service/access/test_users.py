"""Local users: what is kept of a password, and what it takes to be recognized."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.access import users
from deniable_aggregator.access.users import Users
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.builders.databases import AnyStore

PASSWORD = "correct horse battery"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnyStore]:
    opened = SqliteStore(tmp_path / "users.db")
    yield opened
    opened.close()


@pytest.fixture
def known(store: AnyStore, monkeypatch: pytest.MonkeyPatch) -> Users:
    monkeypatch.setattr(users, "LOG2_N", 4)
    return Users(store, clock=lambda: 100.0)


@pytest.mark.slow
def test_what_is_kept_is_scrypt_of_32_mib_with_a_salt_of_its_own() -> None:
    one = users.hash_password(PASSWORD)
    assert one.startswith("scrypt$15$8$3$")
    salt, output = (urlsafe_b64decode(part) for part in one.split("$")[4:])
    wanted = hashlib.scrypt(PASSWORD.encode(), salt=salt, n=2**15, r=8, p=3, maxmem=2**26, dklen=32)
    assert (len(salt), output) == (16, wanted)


def test_two_people_with_one_password_have_salts_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(users, "LOG2_N", 4)
    assert users.hash_password(PASSWORD) != users.hash_password(PASSWORD)


@pytest.mark.slow
def test_the_name_and_the_password_recognize_a_user(known: Users) -> None:
    assert known.add("ana", "viewer", PASSWORD, audit=None)
    assert known.recognize("ana", PASSWORD) == known.list()[0]
    assert known.recognize("ana", PASSWORD + " ") is None
    assert known.recognize("Ana", PASSWORD) is None


def test_every_way_to_write_an_accent_is_the_same_password(known: Users) -> None:
    known.add("ana", "viewer", "caf\u00e9 caf\u00e9 caf\u00e9", audit=None)
    assert known.recognize("ana", "cafe\u0301 cafe\u0301 cafe\u0301") is not None


@pytest.mark.slow
def test_a_name_nobody_has_costs_what_a_wrong_password_costs(
    known: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.add("ana", "viewer", PASSWORD, audit=None)
    costs: list[users.Cost] = []

    def counted(cost: users.Cost, password: str, salt: bytes) -> bytes:
        costs.append(cost)
        return bytes([1]) * 32  # of the right length; the real one takes a third of a second

    monkeypatch.setattr(users.Cost, "output", counted)
    assert known.recognize("nobody", PASSWORD) is None
    assert costs == [users.Cost(15, users.R, users.P)]


@pytest.mark.parametrize("password", ["", "x" * 11, "x" * 257])
def test_a_password_of_another_length_is_refused(known: Users, password: str) -> None:
    with pytest.raises(ValueError, match="password must be 12 to 256 characters"):
        known.add("ana", "viewer", password, audit=None)
    assert known.list() == []


@pytest.mark.parametrize("role", ["relay", "root", ""])
def test_a_person_is_viewer_analyst_or_admin(known: Users, role: str) -> None:
    with pytest.raises(ValueError, match="role must be one of viewer, analyst, admin"):
        known.add("ana", role, PASSWORD, audit=None)


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 65, "\x1b[31m"])
def test_a_name_is_short_and_printable(known: Users, name: str) -> None:
    with pytest.raises(ValueError, match="name must be 1 to 64 printable characters"):
        known.add(name, "viewer", PASSWORD, audit=None)
