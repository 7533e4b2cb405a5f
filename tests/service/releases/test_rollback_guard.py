"""An older copy of the database: all waits until what it has forgotten is charged."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry, parse
from deniable_aggregator.base.errors import StoreError, StoreUnavailableError
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.service import Service
from deniable_aggregator.queries.accounts import account_of
from deniable_aggregator.queries.releases import release as stored_release
from deniable_aggregator.releases.context import ReleaseEpochs
from deniable_aggregator.releases.rollback_guard import database_check, heads_file
from deniable_aggregator.releases.rollback_guard import heads as heads_document
from deniable_aggregator.releases.rollback_guard.heads import Heads
from deniable_aggregator.releases.rollback_guard.reconcile import reconcile
from deniable_gateway.problem import Problem
from support.builders.api_world import World, authored, opened
from support.builders.ledgers import admitted
from support.builders.release_world import BITS, FIRST, LAST, ReleaseWorld, asked, over, stream

MORE = 'central = { per_epoch = "1", per_installation = "1", delta = "0" }\n'


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as made:
        yield made


@pytest.fixture
def spender(service: World) -> ReleaseWorld:
    """A collection with a budget of 1 and reports in two closed epochs."""
    collection = service.register(authored("theme", read="releases", more=MORE))
    for epoch in (FIRST, LAST):
        service.count(collection, [BITS] * 5, epoch=epoch)
    return ReleaseWorld(service, collection)


class Restarted:
    """A directory whose database can be put back to what it was."""

    def __init__(self, spender: ReleaseWorld) -> None:
        self.spender = spender
        self.settings = spender.service.running.settings
        self.saved = self.settings.data.parent / "saved.zip"

    def save(self) -> None:
        copying.back_up(self.settings, self.saved, None, 0)

    def go_back(self) -> None:
        """The saved database in the same directory, and a service over it."""
        self.spender.service.running.close()
        for path in self.settings.data.glob("deniable.db*"):
            path.unlink()
        copying.restore(self.settings, self.saved, passphrase=str, nothing_released_since=False)
        self.open()

    def open(self) -> None:
        service = self.spender.service
        service.running = Service.open(self.settings, clock=service.clock)
        self.spender.__post_init__()

    def release(self, epsilon: str, epoch: int = FIRST) -> str:
        release = self.spender.releases.release(
            self.spender.collection, asked(epsilon, epochs=over(epoch)), audit=None
        )
        return release.row.release

    def refused(self, epsilon: str = "0.01", epoch: int = FIRST) -> str:
        with pytest.raises(Problem) as caught:
            self.release(epsilon, epoch)
        return caught.value.slug

    def spent(self, epoch: int = FIRST) -> Fraction | None:
        service = self.spender.service.running
        rows = service.store.charges(self.spender.collection.id)
        return account_of(self.spender.collection, rows).spent(epoch).epsilon


@pytest.fixture
def restarted(spender: ReleaseWorld) -> Iterator[Restarted]:
    made = Restarted(spender)
    yield made
    made.spender.service.running.close()


def test_heads_json_belongs_to_the_owner_of_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr("os.fchown", lambda _file, *owner: given.append(owner))
    monkeypatch.setattr("os.geteuid", lambda: 1_000)
    heads_file.write(tmp_path, Heads())
    assert given == []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with heads_file.exclusive(tmp_path):
        heads_file.write(tmp_path, Heads())
    assert given == [(tmp_path.stat().st_uid, tmp_path.stat().st_gid)] * 2


def test_the_file_is_for_its_owner_and_knows_the_last_charge(restarted: Restarted) -> None:
    release = restarted.release("0.25")
    path = restarted.settings.data / "heads.json"
    heads = heads_file.read(restarted.settings.data)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert heads is not None
    assert [(each.release, each.epsilon) for each in heads.charges] == [(release, "1/4")]
    assert heads.ledger.size == 1
    assert heads.log.size == restarted.spender.service.running.store.log_head()[0]


def test_a_damaged_charge_stops_no_upload(restarted: Restarted) -> None:
    """Releases and pages say what is damaged; the database is the right one."""
    restarted.release("0.25")
    restarted.spender.service.running.close()
    triggers = "select name from sqlite_master where type = 'trigger'"
    with closing(sqlite3.connect(restarted.settings.database, isolation_level=None)) as db:
        for (name,) in db.execute(triggers).fetchall():
            db.execute(f"drop trigger {name}")
        db.execute("update charges set epsilon = '0.0001'")
    restarted.open()
    assert restarted.spender.service.running.database.check()


@pytest.mark.slow
def test_behind_an_older_copy_releases_and_uploads_wait(restarted: Restarted) -> None:
    restarted.release("0.25")
    restarted.save()
    restarted.release("0.5")
    restarted.go_back()
    service = restarted.spender.service
    assert restarted.spent() == Fraction(1, 4)
    assert restarted.refused() == "ledger-behind"
    service.running.tick()
    assert restarted.refused() == "ledger-behind"
    with pytest.raises(Problem, match="deniable ledger reconcile"):
        service.running.suspension.require_none()
    service.running.reconcile(audit=None)
    service.running.suspension.require_none()


@pytest.mark.slow
def test_reconciling_charges_the_gap_exactly_and_releases_go_on(restarted: Restarted) -> None:
    restarted.release("0.25")
    restarted.save()
    lost = restarted.release("0.5")
    restarted.release("0.125", LAST)
    restarted.go_back()
    gap = restarted.spender.service.running.reconcile(audit=None)
    assert [(row.epsilon, row.epochs) for row in gap.charged] == [
        ("1/2", (FIRST,)),
        ("1/8", (LAST,)),
    ]
    assert gap.exhausted == ()
    assert (restarted.spent(), restarted.spent(LAST)) == (Fraction(3, 4), Fraction(1, 8))
    assert restarted.refused("0.26") == "budget-exhausted"
    restarted.release("0.2")
    assert restarted.spender.service.running.reconcile(audit=None).charged == ()
    with pytest.raises(Problem, match="it was lost when the database was restored"):
        stored_release(restarted.spender.service.running.store, restarted.spender.collection, lost)


@pytest.mark.slow
def test_reconciling_is_one_entry_of_the_audit_log_however_much_it_charges(
    restarted: Restarted,
) -> None:
    restarted.save()
    for epsilon in ("0.5", "0.25"):
        restarted.release(epsilon)
    restarted.go_back()
    service = restarted.spender.service.running
    before = service.store.audit_head()[0]
    entry = AuditEntry.of("ledger-reconciled", actor="ana", at=1)
    assert [len(service.reconcile(audit=entry).charged) for _ in range(2)] == [2, 0]
    [row] = service.store.audit(before)
    assert parse(row) == entry


@pytest.mark.slow
def test_a_lost_release_that_is_asked_for_again_is_paid_again(restarted: Restarted) -> None:
    restarted.save()
    first = restarted.release("0.25")
    restarted.go_back()
    restarted.spender.service.running.reconcile(audit=None)
    assert restarted.release("0.25") != first
    assert restarted.spent() == Fraction(1, 2)


@pytest.mark.slow
def test_a_draw_whose_result_was_lost_is_charged_twice(restarted: Restarted) -> None:
    store, collection = restarted.spender.service.running.store, restarted.spender.collection
    service = ReleaseWorld(restarted.spender.service, collection, entropy=stream())
    request = asked("0.25", epochs=over(FIRST))
    prepare, facts = service.releases._prepare_in_context(
        collection, request, ReleaseEpochs((FIRST,))
    )
    store.charge(service.releases._charge_row(collection, prepare, facts), admitted, audit=None)
    restarted.save()
    restarted.release("0.25")  # draws what was charged, and shows it
    restarted.go_back()
    assert restarted.refused("0.25") == "ledger-behind"
    gap = restarted.spender.service.running.reconcile(audit=None)
    assert [row.epsilon for row in gap.charged] == ["1/4"]
    restarted.release("0.25")
    assert restarted.spent() == Fraction(1, 2)


@pytest.mark.slow
def test_a_gap_longer_than_the_file_costs_the_whole_budget(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads_document, "RECENT", 2)
    restarted.save()
    restarted.release("0.125")
    restarted.release("0.0625")
    restarted.release("0.25", LAST)
    restarted.go_back()
    gap = restarted.spender.service.running.reconcile(audit=None)
    assert gap.exhausted == (restarted.spender.collection.id,)
    assert restarted.refused() == restarted.refused(epoch=LAST) == "budget-exhausted"


@pytest.mark.slow
def test_a_long_past_that_is_there_costs_nothing(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads_document, "RECENT", 2)
    for epsilon in ("0.125", "0.0625", "0.25"):
        restarted.release(epsilon)
    restarted.save()
    restarted.release("0.03125")
    restarted.go_back()
    gap = restarted.spender.service.running.reconcile(audit=None)
    assert [row.epsilon for row in gap.charged] == ["1/32"]
    assert gap.exhausted == ()


def test_a_backup_without_the_file_is_reconciled_with_everything(
    restarted: Restarted, tmp_path: Path
) -> None:
    restarted.release("0.25")
    restarted.save()
    (restarted.settings.data / "heads.json").unlink()
    restarted.go_back()
    assert restarted.refused() == "ledger-behind"
    gap = restarted.spender.service.running.reconcile(audit=None)
    assert gap.exhausted == (restarted.spender.collection.id,)
    assert restarted.refused() == restarted.refused(epoch=LAST) == "budget-exhausted"


@pytest.mark.slow
def test_the_operator_may_say_that_nothing_was_released(restarted: Restarted) -> None:
    restarted.release("0.25")
    restarted.save()
    restarted.spender.service.running.close()
    (restarted.settings.data / "heads.json").unlink()
    for path in restarted.settings.data.glob("deniable.db*"):
        path.unlink()
    done = copying.restore(
        restarted.settings, restarted.saved, passphrase=str, nothing_released_since=True
    )
    restarted.open()
    assert not done.behind
    assert restarted.spent() == Fraction(1, 4)
    restarted.release("0.5")


@pytest.mark.slow
def test_a_session_that_lost_answers_takes_no_more_questions(restarted: Restarted) -> None:
    collection = restarted.spender.collection
    talk = asked("0.25", mechanism="talk", epochs=over(FIRST))
    release = restarted.spender.releases.release(collection, talk, audit=None).row.release
    restarted.spender.releases.sessions.ask(collection, release, {"label": 0}, audit=None)
    restarted.save()
    restarted.spender.releases.sessions.ask(collection, release, {"label": 1}, audit=None)
    restarted.go_back()
    with pytest.raises(Problem, match="takes no more questions") as caught:
        restarted.spender.releases.sessions.ask(collection, release, {"label": 1}, audit=None)
    assert caught.value.slug == "conflict"


def test_the_head_is_on_disk_before_the_draw(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def draw(prepare: object, tallies: object) -> object:
        heads = heads_file.read(restarted.settings.data)
        seen.append(0 if heads is None else heads.ledger.size)
        raise RuntimeError

    monkeypatch.setattr("deniable_aggregator.releases.service._draw", draw)
    assert restarted.refused("0.25") == "release-failed"
    assert seen == [1]


def test_a_directory_that_cannot_keep_the_head_draws_nothing(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted.release("0.125")

    def full(data: Path, heads: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(heads_file, "write", full)
        assert restarted.refused("0.25") == "unavailable"
    store = restarted.spender.service.running.store
    assert len(store.results(restarted.spender.collection.id)) == 1
    restarted.release("0.25")
    assert restarted.spent() == Fraction(3, 8)


def test_a_damaged_file_is_an_error_and_not_a_new_beginning(restarted: Restarted) -> None:
    restarted.release("0.125")
    path = restarted.settings.data / "heads.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match="damaged"):
        restarted.release("0.25")


def test_a_file_of_a_later_program_is_refused(restarted: Restarted) -> None:
    restarted.release("0.125")
    path = restarted.settings.data / "heads.json"
    path.write_bytes(path.read_bytes().replace(b"deniable/heads/1", b"deniable/heads/9"))
    with pytest.raises(StoreError, match="must be deniable/heads/1, it is 'deniable/heads/9'"):
        restarted.release("0.25")


def test_without_a_file_there_is_nothing_to_reconcile(restarted: Restarted) -> None:
    restarted.release("0.25")
    heads_file.remove(restarted.settings.data)
    store, collections = restarted.spender.service.running.store, [restarted.spender.collection]
    gap = reconcile(restarted.settings.data, store, collections, 0, audit=None)
    assert (gap.charged, gap.exhausted, gap.lost) == ((), (), ())
    assert restarted.spent() == Fraction(1, 4)


@pytest.mark.slow
def test_a_reconciliation_that_was_interrupted_charges_nothing_twice(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads_document, "RECENT", 2)
    restarted.save()
    for epsilon in ("0.125", "0.0625", "0.03125"):
        restarted.release(epsilon)
    restarted.go_back()

    def full(*arguments: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(heads_file, "write", full)
        with pytest.raises(OSError, match="no space"):
            restarted.spender.service.running.reconcile(audit=None)
    charged = restarted.spender.service.running.store.charges(restarted.spender.collection.id)
    restarted.spender.service.running.reconcile(audit=None)
    again = restarted.spender.service.running.store.charges(restarted.spender.collection.id)
    assert charged
    assert again == charged
    assert restarted.refused() == "budget-exhausted"


def test_a_database_that_does_not_answer_decides_nothing(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = restarted.spender.service.running

    def away() -> None:
        raise StoreUnavailableError("the connection was refused")

    monkeypatch.setattr(running.store, "ping", away)
    with pytest.raises(StoreUnavailableError):
        running.database.check()
    assert running.suspension.reason(database_check.NAME) is None


def test_a_database_that_cannot_be_read_takes_no_uploads(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = restarted.spender.service.running

    def broken() -> None:
        raise StoreError("a page is malformed")

    monkeypatch.setattr(running.store, "ping", broken)
    assert not running.database.check()
    assert running.suspension.reason(database_check.NAME) == database_check.UNREADABLE
    monkeypatch.undo()
    assert running.database.check()
    assert running.suspension.reason(database_check.NAME) is None
