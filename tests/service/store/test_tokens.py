"""Tokens as rows: added, found by hash, revoked once and for good."""

from __future__ import annotations

import pytest

from deniable_aggregator.access.rows import Token
from deniable_aggregator.base.errors import StoreError
from support.builders.databases import AnyStore, Database

ADMIN = Token("a1", "admin", "first", b"\x01" * 32, 100)
VIEWER = Token("a0", "viewer", "second", b"\x02" * 32, 100, expires=200)


def test_tokens_come_back_as_they_were_oldest_first(store: AnyStore) -> None:
    store.add_token(ADMIN, audit=None)
    store.add_token(VIEWER, audit=None)
    assert store.tokens() == [ADMIN, VIEWER]


def test_a_token_is_found_by_its_hash_only(store: AnyStore) -> None:
    store.add_token(ADMIN, audit=None)
    assert store.find_token(b"\x01" * 32) == ADMIN
    assert store.find_token(b"\x03" * 32) is None


def test_revoking_keeps_the_row_and_the_first_time(store: AnyStore) -> None:
    store.add_token(ADMIN, audit=None)
    assert store.revoke_token("a1", 150.5, audit=None)
    assert store.revoke_token("a1", 170, audit=None)
    found = store.find_token(b"\x01" * 32)
    assert found is not None
    assert found.revoked == 150


def test_revoking_what_is_not_there_says_so(store: AnyStore) -> None:
    assert not store.revoke_token("a1", 150, audit=None)


def test_a_hash_belongs_to_one_token(store: AnyStore) -> None:
    store.add_token(ADMIN, audit=None)
    with pytest.raises(StoreError, match=r"(?i)unique"):
        store.add_token(Token("b2", "viewer", "other", ADMIN.hash, 100), audit=None)


def test_tokens_outlive_a_restart(store: AnyStore, database: Database) -> None:
    store.add_token(VIEWER, audit=None)
    store.close()
    again = database.open()
    assert again.tokens() == [VIEWER]
    again.close()
