"""What is read of a store, and what is done about access, without an application."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec import UNSET

from deniable_aggregator.access import changes
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.access import NewLink, NewToken, NewUser
from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.service import Service
from deniable_aggregator.queries import access
from deniable_aggregator.queries.collections import collections
from deniable_aggregator.queries.epochs import closable_epoch, epochs
from deniable_aggregator.queries.health import readiness_document
from deniable_aggregator.queries.ledger import accounts
from deniable_aggregator.queries.releases import release, releases
from deniable_aggregator.queries.transparency_log import log, log_entries
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_gateway.problem import Problem
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse
from support.builders.api_world import NOON, TODAY, authored
from support.builders.data_directory import Moment, prepared

BUDGET = 'central = { per_epoch = "1", per_installation = "2", delta = "0" }\n'


@dataclass
class Reader:
    """A service without an application, and its operator's key."""

    service: Service
    seed: bytes

    def register(self, manifest: Manifest) -> Collection:
        signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=self.seed)
        self.service.register(signed, audit=None)
        return self.service.registry.get(manifest.collection)

    def count(self, collection: Collection, n: int, epoch: int) -> None:
        """So many equal reports."""
        coins = Coins.system()
        cell = TallyKey(collection.id, epoch, collection.manifest.version)
        rows = [AcceptedReport(cell, coins.bytes(16), b"\x00") for _ in range(n)]
        self.service.store.commit(rows, lambda _, seen: collection.estimator.tally(seen))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    service = Service.open(prepared(tmp_path), clock=Moment(NOON))
    try:
        yield Reader(service, read_seed(tmp_path / "operator.key"))
    finally:
        service.close()


@pytest.fixture
def collection(reader: Reader) -> Collection:
    """Six reports in each of three epochs, of which the first is closed."""
    made = reader.register(authored("theme", type="choice", labels=("a", "b"), more=BUDGET))
    for epoch in (TODAY - 4, TODAY - 1, TODAY):
        reader.count(made, 6, epoch)
    reader.service.store.close_epoch(made.id, TODAY - 4, NOON, audit=None)
    return made


def test_collections_are_listed_as_their_newest_manifests_define_them(
    reader: Reader, collection: Collection
) -> None:
    [listed] = collections(reader.service.registry.listed()).collections
    assert (listed.collection, listed.name, listed.state) == (collection.id, "theme", "open")
    assert (listed.epsilon, listed.domain.labels) == ("2", ["a", "b"])


def test_epochs_have_their_counts_and_states(reader: Reader, collection: Collection) -> None:
    document = epochs(reader.service.store, collection, NOON)
    assert [(row.epoch, row.state, row.n) for row in document.epochs] == [
        (TODAY - 4, "closed", 6),
        (TODAY - 1, "open", 6),
        (TODAY, "open", 6),
    ]
    assert document.rejections == {}


def test_where_only_releases_may_be_read_the_calendar_is_listed(reader: Reader) -> None:
    made = reader.register(authored("sealed", read="releases"))
    document = epochs(reader.service.store, made, NOON)
    assert document.epochs[-1].epoch == TODAY
    assert {row.fewer_than for row in document.epochs if row.state == "closed"} == {3}
    assert document.rejections is UNSET


def test_an_open_epoch_closes_early_or_not_at_all(reader: Reader, collection: Collection) -> None:
    store = reader.service.store
    assert closable_epoch(store, collection, str(TODAY), early=True, now=NOON) == TODAY
    assert closable_epoch(store, collection, str(TODAY - 4), early=False, now=NOON) == TODAY - 4
    with pytest.raises(Problem, match="takes reports until"):
        closable_epoch(store, collection, str(TODAY), early=False, now=NOON)
    with pytest.raises(Problem, match="an epoch that has started"):
        closable_epoch(store, collection, str(TODAY + 1), early=True, now=NOON)


def test_a_release_is_listed_read_again_and_in_the_ledger(
    reader: Reader, collection: Collection
) -> None:
    store = reader.service.store
    wanted = ReleaseRequest("histogram", {"epsilon": "0.25"})
    quote = reader.service.releases.quote(collection, wanted)
    made = reader.service.releases.release(collection, wanted, audit=None)
    [listed] = releases(store, collection).releases
    again = release(store, collection, listed.release)
    assert (listed.release, listed.state) == (made.row.release, "made")
    assert (again.release, again.law) == (listed.release, quote.law)
    assert again.log is not UNSET
    assert log(store, again.log.index).entries[0][0] == "release"
    [account] = accounts(store, [collection])
    assert account.releases == [listed]
    assert account.epochs[0].spent == listed.guarantee


def test_a_release_that_is_not_there_is_not_found(reader: Reader, collection: Collection) -> None:
    with pytest.raises(Problem, match="has no release"):
        release(reader.service.store, collection, "0" * 16)


def test_a_page_of_the_log_begins_where_it_is_wanted(
    reader: Reader, collection: Collection
) -> None:
    whole = log(reader.service.store, 0)
    assert [kind for kind, _ in whole.entries] == ["keys", "manifest"]
    assert log(reader.service.store, 1).entries == whole.entries[1:]
    assert log(reader.service.store, 9).entries == []


def test_an_entry_of_the_log_is_explained_to_those_who_may_know(
    reader: Reader, collection: Collection
) -> None:
    store = reader.service.store
    made = reader.service.releases.release(
        collection, ReleaseRequest("histogram", {"epsilon": "0.25"}), audit=None
    )
    rows = log_entries(store, [collection], 1, 9)
    assert [(row.index, row.type, row.collection) for row in rows] == [
        (1, "manifest", collection),
        (2, "release", collection),
    ]
    assert (rows[0].version, rows[1].release) == (1, made.row.release)
    assert [row.collection for row in log_entries(store, [], 0, 3)] == [None, None, None]


def test_tokens_are_made_listed_and_revoked(reader: Reader) -> None:
    tokens = reader.service.tokens
    new = NewToken(role="viewer", label="notebook", expires_days=1)
    made = changes.make_token(tokens, new, scope=["one"], now=NOON, audit=None)
    listed = access.tokens(tokens).tokens[-1]
    assert (listed.id, listed.collections, listed.expires) == (made.id, ["one"], made.expires)
    changes.revoke_token(tokens, made.id, audit=None)
    assert access.tokens(tokens).tokens[-1].revoked == NOON
    with pytest.raises(Problem, match="no token has the id"):
        changes.revoke_token(tokens, "nothing", audit=None)


def test_a_label_that_would_forge_a_line_is_refused(reader: Reader) -> None:
    with pytest.raises(Problem, match="printable"):
        changes.make_token(
            reader.service.tokens,
            NewToken(role="viewer", label="a\nb"),
            scope=None,
            now=NOON,
            audit=None,
        )


@pytest.mark.slow
def test_people_are_added_listed_and_removed(reader: Reader) -> None:
    users = reader.service.users
    ada = NewUser(name="ada", role="viewer", password="correct horse battery")
    changes.add_user(users, ada, scope=None, audit=None)
    assert access.users(users).users == [access.user(reader.service.store, "ada")]
    with pytest.raises(Problem, match="already"):
        changes.add_user(users, ada, scope=None, audit=None)
    changes.remove_user(users, "ada", audit=None)
    assert access.users(users).users == []
    with pytest.raises(Problem, match="has the name"):
        changes.remove_user(users, "ada", audit=None)


def test_a_link_begins_a_session_that_can_be_ended(reader: Reader) -> None:
    sessions = reader.service.sessions
    link = changes.make_link(
        sessions,
        NewLink(name="ada"),
        scope=None,
        now=NOON,
        path_of=lambda secret: secret,
        audit=None,
    )
    sessions.use_link(link.path)
    [session] = access.sessions(sessions).sessions
    assert (session.name, session.via, link.expires) == ("ada", "link", NOON + 900)
    changes.end_session(sessions, session.id, audit=None)
    assert access.sessions(sessions).sessions == []
    with pytest.raises(Problem, match="no session has the id"):
        changes.end_session(sessions, session.id, audit=None)


def test_the_audit_log_is_a_document(reader: Reader) -> None:
    document = access.audit(reader.service.store, 0)
    assert document.size == len(document.entries)
    assert document.head == document.entries[-1].head
    assert access.audit(reader.service.store, 0, 1).entries == document.entries[:1]
    assert [row.head.hex() for row in access.audit_rows(reader.service.store)] == [
        entry.head for entry in document.entries
    ]


def test_a_check_that_fails_is_named_with_all_that_passed() -> None:
    assert readiness_document({"disk": "ok"}, ()).checks == {"disk": "ok"}
    with pytest.raises(Problem, match="not ready: disk is full") as caught:
        readiness_document({"keys": "ok", "disk": "is full"}, ("clock",))
    assert caught.value.extra["checks"] == {"keys": "ok", "disk": "is full"}
