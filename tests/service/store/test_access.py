"""Users, sessions, links and the audit log as rows, in both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.access.rows import LinkRow, SessionRow, Token, User
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import KeyListRow
from deniable_shared.errors import ForkError
from support.builders.databases import AnyStore, Database
from support.builders.ledgers import admitted, charge_row
from support.builders.store_reports import COLLECTION, EPOCH, arrivals, manifest_row, sums

ANA = User("ana", "analyst", ("settings-4kqz0m",), "scrypt$…", 100)
KEYS = KeyListRow(1, 100, 200, b"\x09" * 32, b"envelope")
LINK = LinkRow(b"\x05" * 32, "first", "admin", None, 200)


def session(number: int = 1, *, name: str = "ana", via: str = "password") -> SessionRow:
    return SessionRow(f"s{number}", bytes([number]) * 32, name, "viewer", None, via, 100, 900)


def token(number: int) -> Token:
    return Token(f"t{number}", "viewer", "x", bytes([number]) * 32, 100)


def act(name: str) -> AuditEntry:
    return AuditEntry.of(name, actor="ana", at=1)


def test_a_user_comes_back_as_added_and_a_name_is_given_once(store: AnyStore) -> None:
    assert store.add_user(ANA, audit=None)
    assert not store.add_user(User("ana", "admin", None, "other", 200), audit=None)
    assert store.users() == [ANA]
    assert (store.find_user("ana"), store.find_user("bob")) == (ANA, None)


def test_removing_a_user_ends_every_session_and_link_of_that_name(store: AnyStore) -> None:
    store.add_user(ANA, audit=None)
    for number, via in enumerate(["password", "oidc", "link"], start=1):
        assert store.add_session(session(number, via=via), audit=None)
    bob = session(4, name="bob", via="link")
    store.add_session(bob, audit=None)
    store.add_link(replace(LINK, name="ana"), audit=None)
    assert store.remove_user("ana", audit=act("user-removed"))
    assert store.sessions() == [bob]
    assert store.find_link(LINK.hash) is None
    [entry] = map(audit.parse, store.audit())
    assert entry.details == {"sessions": "3", "links": "1"}
    assert not store.remove_user("ana", audit=None)


def test_a_name_without_a_password_can_be_removed_too(store: AnyStore) -> None:
    store.add_session(session(1, via="oidc"), audit=None)
    assert store.remove_user("ana", audit=None)
    assert store.sessions() == []


def test_nobody_signs_in_with_the_password_of_a_user_who_was_removed(store: AnyStore) -> None:
    assert not store.add_session(session(), audit=None)
    assert store.sessions() == []


def test_revoking_a_token_ends_the_sessions_that_it_began_and_no_other(store: AnyStore) -> None:
    for number in (1, 2):
        store.add_token(token(number), audit=None)
        assert store.add_session(session(number, via=f"shared t{number}"), audit=None)
    assert store.revoke_token("t1", 150, audit=act("token-revoked"))
    assert [row.via for row in store.sessions()] == ["shared t2"]
    assert not store.add_session(session(3, via="shared t1"), audit=None)
    assert not store.add_session(session(4, via="shared t9"), audit=None)


def test_a_session_is_found_by_its_hash_until_it_is_ended(store: AnyStore) -> None:
    row = session(via="link")
    store.add_session(row, audit=None)
    assert store.find_session(row.hash) == row
    assert store.end_session("s1", audit=None)
    assert store.find_session(row.hash) is None
    assert not store.end_session("s1", audit=None)


def test_of_many_who_use_a_link_at_once_one_comes_in(store: AnyStore) -> None:
    store.add_link(LINK, audit=None)
    rows = [session(number, via="link") for number in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        used = list(pool.map(lambda row: store.use_link(LINK.hash, row, now=150, audit=None), rows))
    assert used.count(True) == 1
    assert len(store.sessions()) == 1


def test_a_link_that_is_over_lets_nobody_in(store: AnyStore) -> None:
    store.add_link(LINK, audit=None)
    assert not store.use_link(LINK.hash, session(via="link"), now=200, audit=None)
    assert store.sessions() == []


def test_what_is_over_is_forgotten_and_what_lasts_is_kept(store: AnyStore) -> None:
    store.add_link(LINK, audit=None)
    store.add_session(session(via="link"), audit=None)
    store.delete_expired_access(199)
    assert store.find_link(LINK.hash) == LINK
    store.delete_expired_access(900)
    assert (store.find_link(LINK.hash), store.sessions()) == (None, [])


def test_the_scope_of_a_token_comes_back(store: AnyStore) -> None:
    limited = Token("a", "viewer", "x", b"\x07" * 32, 100, collections=("a-1", "b-2"))
    store.add_token(limited, audit=None)
    assert store.tokens() == [limited]


def test_an_act_and_its_entry_are_there_together(store: AnyStore) -> None:
    made = AuditEntry.of("token-made", actor="ana", at=7.9, token="t1")
    store.add_token(token(1), audit=made)
    store.add_token(token(2), audit=None)
    [row] = store.audit()
    assert audit.parse(row) == AuditEntry("token-made", "ana", 7, {"token": "t1"})
    assert store.audit_head() == (1, row.head.hex())


def test_an_act_that_fails_leaves_no_entry_and_the_next_one_does(store: AnyStore) -> None:
    store.add_token(token(1), audit=None)
    with pytest.raises(StoreError):
        store.add_token(token(1), audit=act("token-made"))
    assert store.audit() == []
    store.add_token(token(2), audit=act("token-made"))
    assert len(store.audit()) == 1


def test_an_act_that_changes_nothing_leaves_no_entry(store: AnyStore) -> None:
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    store.charge(charge_row(1), admitted, audit=None)
    release = charge_row(1).release
    for done in (
        store.remove_user("nobody", audit=act("user-removed")),
        store.revoke_token("none", 1, audit=act("token-revoked")),
        store.close_epoch(COLLECTION, EPOCH, 0, audit=act("epoch-closed")),
        store.charge(charge_row(1), admitted, audit=act("release-asked")),
        store.add_record(release, 7, b"x", audit=act("question-asked")),
        store.add_key_list(KEYS, log_size=9, audit=act("key-rotated")),
        store.end_session("none", audit=act("sign-out")),
        store.add_session(session(), audit=act("sign-in")),
        store.use_link(LINK.hash, session(), now=1, audit=act("sign-in")),
    ):
        assert done in (False, charge_row(1))
    assert store.audit() == []


def test_closing_charging_and_registering_carry_their_entries(store: AnyStore) -> None:
    store.commit(arrivals(range(3)), sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=act("epoch-closed"))
    store.charge(charge_row(1), admitted, audit=act("release-asked"))
    store.add_manifest(manifest_row(version=2), audit=act("manifest-applied"))
    acts = [audit.parse(row).act for row in store.audit()]
    assert acts == ["epoch-closed", "release-asked", "manifest-applied"]


def test_what_is_tried_again_has_its_entry_when_it_is_done(store: AnyStore) -> None:
    assert not store.add_key_list(KEYS, log_size=9, audit=act("key-rotated"))
    assert store.add_key_list(KEYS, log_size=1, audit=act("key-rotated"))
    assert [audit.parse(row).act for row in store.audit()] == ["key-rotated"]


def test_an_epoch_that_nobody_closes_by_hand_leaves_no_entry(store: AnyStore) -> None:
    store.commit(arrivals(range(3)), sums)
    assert store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    assert not store.close_epoch(COLLECTION, EPOCH, 0, audit=act("epoch-closed"))
    assert store.audit() == []


def test_only_an_act_of_the_list_has_an_entry() -> None:
    with pytest.raises(ValueError, match="act must be one of alert-ended, "):
        act("nothing-much")


def filled(store: AnyStore) -> None:
    for number in range(1, 6):
        made = AuditEntry.of("token-made", actor=f"user {number}", at=number)
        store.add_token(token(number), audit=made)


def test_entries_of_many_writers_are_one_chain(store: AnyStore) -> None:
    def make(number: int) -> None:
        made = AuditEntry.of("token-made", actor=str(number), at=number)
        store.add_token(token(number), audit=made)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(make, range(1, 25)))
    size, head = audit.verify(store.audit())
    assert (size, head.hex()) == store.audit_head()
    assert size == 24


@pytest.mark.parametrize("change", ["delete from audit", "update audit set position = 99"])
def test_sql_itself_refuses_to_change_the_audit_log(
    store: AnyStore, database: Database, change: str
) -> None:
    filled(store)
    with database.refusing("append-only"):
        database.execute(change)


def test_any_entry_that_was_changed_breaks_the_chain(store: AnyStore) -> None:
    filled(store)
    rows = list(store.audit())
    for place in range(len(rows)):
        forged = list(rows)
        forged[place] = type(rows[place])(b'{"act":"nothing"}', rows[place].head)
        with pytest.raises(ForkError, match=f"entry {place + 1} "):
            audit.verify(forged)
    for place in range(len(rows) - 1):
        with pytest.raises(ForkError):
            audit.verify(rows[:place] + rows[place + 1 :])


def test_the_audit_log_outlives_a_restart(store: AnyStore, database: Database) -> None:
    filled(store)
    head = store.audit_head()
    store.close()
    again = database.open()
    assert again.audit_head() == head
    again.close()
