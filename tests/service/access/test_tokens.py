"""Tokens and roles: what is stored, who is recognized, who may do what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.access.rows import Token
from deniable_aggregator.access.tokens import Tokens
from deniable_aggregator.base.roles import ROLES, allows
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.builders.data_directory import Moment
from support.builders.databases import AnyStore

NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnyStore]:
    opened = SqliteStore(tmp_path / "tokens.db")
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Moment:
    return Moment(NOW)


@pytest.fixture
def tokens(store: AnyStore, clock: Moment) -> Tokens:
    return Tokens(store, clock=clock)


def test_a_new_token_is_recognized_with_its_role(tokens: Tokens) -> None:
    token_id, secret = tokens.create("analyst", "notebook", audit=None)
    found = tokens.authenticate(f"Bearer {secret}")
    assert found is not None
    assert (found.id, found.role, found.label) == (token_id, "analyst", "notebook")


def test_a_token_is_dn_and_43_characters_of_32_random_bytes(tokens: Tokens) -> None:
    secrets = {tokens.create("viewer", "x", audit=None)[1] for _ in range(20)}
    assert len(secrets) == 20
    assert {len(secret) for secret in secrets} == {46}
    assert all(secret.startswith("dn_") for secret in secrets)


def test_the_database_holds_the_hash_and_nothing_of_the_token(
    tokens: Tokens, store: AnyStore, tmp_path: Path
) -> None:
    _, secret = tokens.create("viewer", "x", audit=None)
    store.close()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in files
    assert secret.removeprefix("dn_").encode() not in files
    assert hashlib.sha256(secret.encode()).digest() in files


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer dn_",
        "Bearer dn_" + "A" * 43,
        "Basic dn_" + "A" * 43,
        "dn_" + "A" * 43,
        "Bearer dn_" + "A" * 100_000,
        "Bearer \x00",
        "Bearer dn_ü",
        "Bearer dn_\udcff",
    ],
)
def test_what_is_no_token_of_ours_is_nobody(tokens: Tokens, header: str | None) -> None:
    tokens.create("admin", "somebody", audit=None)
    assert tokens.authenticate(header) is None


def test_every_changed_character_makes_a_token_nobody(tokens: Tokens) -> None:
    _, secret = tokens.create("admin", "x", audit=None)
    changed = [
        secret[:place] + ("A" if secret[place] != "A" else "B") + secret[place + 1 :]
        for place in range(len(secret))
    ]
    assert [tokens.authenticate(f"Bearer {other}") for other in changed] == [None] * len(changed)


def test_the_scheme_may_be_written_in_any_case(tokens: Tokens) -> None:
    _, secret = tokens.create("viewer", "x", audit=None)
    assert tokens.authenticate(f"bEARER {secret}") is not None


def test_a_revoked_token_is_nobody_and_stays_listed(tokens: Tokens) -> None:
    token_id, secret = tokens.create("admin", "x", audit=None)
    assert tokens.revoke(token_id, audit=None)
    assert tokens.authenticate(f"Bearer {secret}") is None
    assert [token.revoked for token in tokens.list()] == [int(NOW)]


def test_revoking_again_keeps_the_first_time(tokens: Tokens, clock: Moment) -> None:
    token_id, _ = tokens.create("admin", "x", audit=None)
    tokens.revoke(token_id, audit=None)
    clock.now += 60
    assert tokens.revoke(token_id, audit=None)
    assert tokens.list()[0].revoked == int(NOW)


def test_revoking_what_is_not_there_says_so(tokens: Tokens) -> None:
    assert not tokens.revoke("000000000000", audit=None)


def test_a_token_ends_in_the_second_it_expires(tokens: Tokens, clock: Moment) -> None:
    _, secret = tokens.create("viewer", "x", expires=NOW + 10, audit=None)
    clock.now = NOW + 9.9
    assert tokens.authenticate(f"Bearer {secret}") is not None
    clock.now = NOW + 10
    assert tokens.authenticate(f"Bearer {secret}") is None


def test_an_expiry_in_the_past_is_refused(tokens: Tokens) -> None:
    with pytest.raises(ValueError, match="expires must be after now"):
        tokens.create("viewer", "x", expires=NOW, audit=None)
    assert list(tokens.list()) == []


@pytest.mark.parametrize("role", ["", "root", "Admin", "admin "])
def test_an_unknown_role_is_refused_with_those_that_are_known(tokens: Tokens, role: str) -> None:
    with pytest.raises(
        ValueError, match="role must be one of viewer, analyst, admin, relay, metrics"
    ):
        tokens.create(role, "x", audit=None)


@pytest.mark.parametrize("label", ["", "x" * 65, "two\nlines", "\x1b[31m"])
def test_a_label_that_is_not_short_and_printable_is_refused(tokens: Tokens, label: str) -> None:
    with pytest.raises(ValueError, match="label must be 1 to 64 printable characters"):
        tokens.create("viewer", label, audit=None)


def test_roles_rise_from_viewer_to_admin_and_machines_stand_apart() -> None:
    allowed = {(role, needed) for role in ROLES for needed in ROLES if allows(role, needed)}
    assert allowed == {
        ("viewer", "viewer"),
        ("analyst", "viewer"),
        ("analyst", "analyst"),
        ("admin", "viewer"),
        ("admin", "analyst"),
        ("admin", "admin"),
        ("admin", "metrics"),
        ("relay", "relay"),
        ("metrics", "metrics"),
    }


def test_a_store_that_answers_with_another_token_is_not_believed(store: AnyStore) -> None:
    class Confused:
        """A store with a broken index: it returns the same token for every hash."""

        def add_token(self, token: Token, *, audit: AuditEntry | None) -> None: ...
        def tokens(self) -> list[Token]:
            return []

        def revoke_token(self, token_id: str, now: float, *, audit: AuditEntry | None) -> bool:
            return False

        def find_token(self, token_hash: bytes) -> Token | None:
            return Token("0" * 12, "admin", "x", bytes(32), 0)

    assert Tokens(Confused(), clock=lambda: NOW).authenticate("Bearer dn_" + "A" * 43) is None
