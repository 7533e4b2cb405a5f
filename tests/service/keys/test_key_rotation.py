"""Keys over time: made, announced, used, replaced, destroyed; never listed out of order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from deniable_aggregator.access.audit import AuditEntry, parse
from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import directory as keys
from deniable_aggregator.keys import files as key_files
from deniable_aggregator.keys import lists as key_lists
from deniable_aggregator.keys import renew_delegation
from deniable_aggregator.keys.files import read_private, read_seed, write_private
from deniable_aggregator.keys.keyring import Keys
from deniable_aggregator.keys.report_keys import ReportKeys
from deniable_aggregator.keys.rotation import PENDING_SECONDS
from deniable_aggregator.operations.service import Service
from deniable_gateway.problem import Problem
from deniable_shared.wire import dsse, envelope
from deniable_shared.wire.key_list import KeyList, verify_key_list
from deniable_shared.wire.key_succession import check_successor_keys
from deniable_shared.wire.problems import ReportError
from support.builders import service_world
from support.builders.service_world import DAY, NOON, TODAY, Moment, World

GRACE = 2 * DAY


def key_file(bare_service: World, key_id: int) -> Path:
    return bare_service.running.settings.data / "keys" / f"report-{key_id}.key"


def states(bare_service: World) -> dict[int, str]:
    return {key.id: key.state for key in bare_service.key_list().keys}


def later(bare_service: World, seconds: float) -> None:
    bare_service.clock.now += seconds
    bare_service.running.tick()


def lists(bare_service: World) -> list[KeyList]:
    """Every list that was ever signed, in order."""
    rows = (bare_service.running.store.key_list(version) for version in range(1, 10_000))
    found = []
    for row in rows:
        if row is None:
            break
        trusted = [bare_service.running.keys.trust]
        found.append(verify_key_list(row.envelope, trusted=trusted, now=row.issued))
    return found


@contextmanager
def reopened(folder: Path, now: float) -> Iterator[World]:
    clock = Moment(now)
    service = Service.open(Settings(data=folder / "data"), clock=clock)
    try:
        seed = read_seed(folder / "operator.key")
        yield World(service, clock, seed, service_world.authored())
    finally:
        service.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A prepared data directory that no service has open."""
    folder = tmp_path / "other"
    folder.mkdir()
    service_world.prepared(folder)
    return folder


@pytest.fixture(autouse=True)
def _every_list_follows_the_one_before(bare_service: World) -> Iterator[None]:
    yield
    signed = lists(bare_service)
    for old, new in pairwise(signed):
        check_successor_keys(old, new)


def test_a_new_key_is_listed_a_day_before_it_is_used(bare_service: World) -> None:
    standing = bare_service.running.keys.rotate(audit=None)
    assert (standing.key.id, standing.key.state, standing.since) == (2, "pending", NOON)
    assert states(bare_service) == {1: "active", 2: "pending"}
    later(bare_service, PENDING_SECONDS - 1)
    assert bare_service.key_list().active.id == 1
    later(bare_service, 1)
    assert states(bare_service) == {1: "expired", 2: "active"}


def test_a_pending_key_opens_already(bare_service: World) -> None:
    standing = bare_service.running.keys.rotate(audit=None)
    sealed = envelope.seal(b"hello", public_key=standing.key.public_key, info=b"")
    opener = bare_service.running.keys.opener(standing.key.id)
    assert opener is not None
    assert opener.open(sealed, info=b"") == b"hello"


def test_the_entry_of_a_rotation_comes_with_the_list_that_has_the_new_key(
    bare_service: World,
) -> None:
    """A list that is due is signed first, without an audit entry."""
    store = bare_service.running.store
    bare_service.clock.now += 8 * DAY
    signed, acts = len(lists(bare_service)), store.audit_head()[0]
    entry = AuditEntry.of("key-rotated", actor="ana", at=1)
    bare_service.running.keys.rotate(audit=entry)
    assert len(lists(bare_service)) == signed + 2
    bare_service.running.keys.rotate(audit=entry)  # the one that is pending is the one
    [row] = store.audit(acts)
    assert parse(row) == entry


def test_a_rotation_whose_key_another_process_lists_has_its_entry_too(
    bare_service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, make = bare_service.running, ReportKeys.make
    other = Keys(service.settings.data, store=service.store, clock=bare_service.clock)

    def overtaken(files: ReportKeys, key_id: int, suite: int) -> None:
        monkeypatch.undo()
        make(files, key_id, suite)
        assert other.renew()

    monkeypatch.setattr(ReportKeys, "make", overtaken)
    entry = AuditEntry.of("key-rotated", actor="ana", at=1)
    assert service.keys.rotate(audit=entry).key.state == "pending"
    assert parse(service.store.audit()[-1]) == entry


def test_rotating_again_waits_for_the_key_that_is_pending(bare_service: World) -> None:
    first = bare_service.running.keys.rotate(audit=None)
    later(bare_service, 60)
    assert bare_service.running.keys.rotate(audit=None) == first


def test_a_key_is_used_at_once_if_told_so_and_still_announced_first(bare_service: World) -> None:
    assert bare_service.running.keys.rotate(at_once=True, audit=None).key.state == "active"
    assert states(bare_service) == {1: "expired", 2: "active"}
    shown = [[key.state for key in each.keys] for each in lists(bare_service)]
    assert shown[-2:] == [["active", "pending"], ["expired", "active"]]


def test_reports_to_an_expired_key_still_open(bare_service: World) -> None:
    report = bare_service.report()
    bare_service.running.keys.rotate(at_once=True, audit=None)
    assert states(bare_service)[report.header.key_id] == "expired"
    assert bare_service.upload(report) == []
    assert bare_service.n() == 1


def test_reports_to_a_destroyed_key_are_told_so_and_count_once_sealed_anew(
    bare_service: World,
) -> None:
    late = bare_service.report(bare_service.header(epoch=TODAY + 3))
    bare_service.running.keys.rotate(at_once=True, audit=None)
    later(bare_service, 4 * DAY)
    assert bare_service.upload(late) == [(late.header.report_id, ReportError.OUTDATED_KEY)]
    again = bare_service.header(report_id=late.header.report_id, epoch=TODAY + 3, key_id=2)
    assert bare_service.upload(bare_service.report(again)) == []
    assert bare_service.n(TODAY + 3) == 1


def test_a_key_is_destroyed_once_the_epochs_of_its_last_moment_are_closed(
    bare_service: World,
) -> None:
    bare_service.running.keys.rotate(at_once=True, audit=None)
    closes = (TODAY + 1) * DAY + GRACE
    bare_service.clock.now = closes
    bare_service.running.tick()
    assert key_file(bare_service, 1).exists()
    assert bare_service.running.keys.opener(1) is not None
    later(bare_service, 1)
    assert not key_file(bare_service, 1).exists()
    assert bare_service.running.keys.opener(1) is None
    assert states(bare_service) == {2: "active"}


def test_nothing_of_a_destroyed_key_stays_in_the_directory(bare_service: World) -> None:
    kept = read_private(key_file(bare_service, 1), kind="hpke-1")
    text = key_file(bare_service, 1).read_text().strip().encode()
    bare_service.running.keys.rotate(at_once=True, audit=None)
    later(bare_service, 4 * DAY)
    for path in bare_service.running.settings.data.rglob("*"):
        if path.is_file():
            assert kept not in path.read_bytes()
            assert text not in path.read_bytes()


def test_a_collection_with_long_epochs_keeps_its_keys_longer(bare_service: World) -> None:
    text = service_world.TOML.replace('"settings"', '"monthly"').replace(
        'grace = "2d"', 'epoch = "31d"'
    )
    bare_service.running.registry.apply(
        bare_service.signed(service_world.authored(text)), audit=None
    )
    bare_service.running.keys.rotate(at_once=True, audit=None)
    later(bare_service, 10 * DAY)
    assert states(bare_service) == {1: "expired", 2: "active"}
    later(bare_service, 40 * DAY)
    assert states(bare_service) == {2: "active"}


def test_a_closed_collection_keeps_no_key(bare_service: World) -> None:
    bare_service.running.registry.close(bare_service.manifest.collection, audit=None)
    bare_service.running.keys.rotate(at_once=True, audit=None)
    bare_service.running.tick()
    assert states(bare_service) == {2: "active"}


def test_a_key_is_replaced_after_90_days_in_use(bare_service: World) -> None:
    later(bare_service, 90 * DAY - 1)
    assert states(bare_service) == {1: "active"}
    later(bare_service, 1)
    assert states(bare_service) == {1: "active", 2: "pending"}
    later(bare_service, DAY)
    assert states(bare_service)[2] == "active"


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_year_of_ticks_makes_a_key_a_quarter_and_destroys_the_old_ones(
    bare_service: World,
) -> None:
    for _ in range(366):
        later(bare_service, DAY)
    assert states(bare_service) == {5: "active"}
    assert [path.name for path in key_file(bare_service, 0).parent.glob("report-*")] == [
        "report-5.key"
    ]


def test_suite_2_stands_beside_suite_1_and_is_what_devices_take(bare_service: World) -> None:
    bare_service.running.keys.rotate(2, at_once=True, audit=None)
    assert states(bare_service) == {1: "active", 2: "active"}
    assert bare_service.key_list().active.suite == 2
    bare_service.running.keys.rotate(2, at_once=True, audit=None)
    assert states(bare_service) == {1: "active", 2: "expired", 3: "active"}


def test_a_report_of_suite_2_is_counted(bare_service: World) -> None:
    standing = bare_service.running.keys.rotate(2, at_once=True, audit=None)
    header = bare_service.header(key_id=standing.key.id)
    assert bare_service.upload(bare_service.report(header)) == []
    assert bare_service.n() == 1


@pytest.mark.slow
@pytest.mark.parametrize("suite", [1, 2])
def test_the_states_and_their_times_survive_a_restart(folder: Path, suite: int) -> None:
    with reopened(folder, NOON) as bare_service:
        bare_service.running.keys.rotate(suite, audit=None)
    with reopened(folder, NOON + PENDING_SECONDS - 1) as bare_service:
        assert bare_service.key_list().active.id == 1
    with reopened(folder, NOON + PENDING_SECONDS) as bare_service:
        assert bare_service.key_list().active.id == 2
    with reopened(folder, NOON + PENDING_SECONDS + 90 * DAY - 1) as bare_service:
        bare_service.running.tick()
        assert (3 in states(bare_service)) == (suite == 2)  # key 1, of suite 1, is older
        later(bare_service, 1)
        assert "pending" in states(bare_service).values()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["renew", "make"])
def test_a_rotation_that_is_interrupted_is_finished_at_the_next_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def killed(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    with reopened(folder, NOON) as bare_service:
        owner = key_lists.KeyLists if step == "renew" else key_files
        name = "_add" if step == "renew" else "sync_directory"
        monkeypatch.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            bare_service.running.keys.rotate(audit=None)
        monkeypatch.undo()
    with reopened(folder, NOON) as bare_service:
        assert states(bare_service) == {1: "active", 2: "pending"}


def test_a_destruction_that_is_interrupted_is_finished_at_the_next_tick(
    bare_service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_service.running.keys.rotate(at_once=True, audit=None)
    key_file(bare_service, 1).unlink()
    bare_service.running.tick()
    assert states(bare_service) == {2: "active"}


def test_a_file_put_there_for_a_second_replica_is_taken_up_pending(bare_service: World) -> None:
    private, public = envelope.generate()
    write_private(key_file(bare_service, 9), private, kind="hpke-1")
    bare_service.running.tick()
    assert states(bare_service) == {1: "active", 9: "pending"}
    assert bare_service.running.keys.rotate(audit=None).key.public_key == public


def test_a_destroyed_key_that_comes_back_from_a_backup_is_not_used(
    bare_service: World, caplog: pytest.LogCaptureFixture
) -> None:
    backup = key_file(bare_service, 1).read_bytes()
    bare_service.running.keys.rotate(at_once=True, audit=None)
    later(bare_service, 4 * DAY)
    key_file(bare_service, 1).write_bytes(backup)
    key_file(bare_service, 1).chmod(0o600)
    later(bare_service, DAY)
    later(bare_service, DAY)
    assert states(bare_service) == {2: "active"}
    assert bare_service.running.keys.opener(1) is None
    assert caplog.text.count("report-1.key was destroyed before and is not used") == 1


def test_another_key_under_a_listed_id_is_refused(folder: Path) -> None:
    path = folder / "data" / "keys" / "report-1.key"
    path.unlink()
    write_private(path, envelope.generate()[0], kind="hpke-1")
    with pytest.raises(KeyFileError, match="give a new key a new id"), reopened(folder, NOON):
        pass


def test_a_lost_active_key_is_expired_and_its_successor_used_early(bare_service: World) -> None:
    bare_service.running.keys.rotate(audit=None)
    key_file(bare_service, 1).unlink()
    bare_service.running.tick()
    assert states(bare_service) == {2: "active"}


def test_without_a_delegation_no_key_is_made(bare_service: World) -> None:
    bare_service.clock.now += keys.DELEGATION_SECONDS
    with pytest.raises(Problem, match="deniable keys delegate"):
        bare_service.running.keys.rotate(audit=None)
    bare_service.running.tick()
    assert not key_file(bare_service, 2).exists()


def test_a_new_delegation_is_taken_up_by_the_service_that_runs(bare_service: World) -> None:
    bare_service.clock.now += keys.DELEGATION_SECONDS
    before = bare_service.running.keys.key_list()
    bare_service.running.tick()
    assert bare_service.running.keys.key_list() == before
    renew_delegation(
        bare_service.running.settings.data,
        operator_seed=bare_service.operator_seed,
        now=bare_service.clock(),
    )
    bare_service.running.tick()
    assert bare_service.key_list().expires > bare_service.clock()


def test_a_clock_that_fell_back_dates_no_list_before_the_last(bare_service: World) -> None:
    later(bare_service, DAY)
    issued = bare_service.key_list().issued
    bare_service.clock.now -= DAY / 2
    bare_service.running.keys.rotate(audit=None)
    assert bare_service.key_list().issued == issued


def test_a_suite_that_is_not_here_is_refused_with_the_reason(
    bare_service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope, "_has_hybrid", lambda: False)
    with pytest.raises(Problem, match="upgrade cryptography"):
        bare_service.running.keys.rotate(2, audit=None)
    assert list(key_file(bare_service, 2).parent.glob("report-2*")) == []


@pytest.mark.slow
def test_256_listed_keys_are_enough(bare_service: World) -> None:
    for key_id in range(256):
        if key_id != 1:
            write_private(key_file(bare_service, key_id), envelope.generate()[0], kind="hpke-1")
    bare_service.running.tick()
    later(bare_service, PENDING_SECONDS)
    newest = bare_service.key_list().active.id
    for path in key_file(bare_service, 0).parent.glob("report-*.key"):
        if path.name not in (f"report-{newest}.key", "report-1.key"):
            path.unlink()
    bare_service.running.tick()
    assert bare_service.key_list().active.id == newest


def test_a_public_key_of_another_operator_signs_nothing(folder: Path) -> None:
    (folder / "data" / "trust").write_text(dsse.public_key(dsse.generate_key()) + "\n")
    with pytest.raises(Exception, match="trusted"), reopened(folder, NOON):
        pass
