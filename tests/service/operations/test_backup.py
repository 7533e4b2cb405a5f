"""Backup, restore and copy: every row, either way, under load, and nothing half-done."""

from __future__ import annotations

import errno
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.access.rows import User
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import copying, sealed_keys
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.opening import open_store, place_of
from deniable_aggregator.store.portable.snapshot import TableDigest, digests, snapshot
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.store.rows import (
    CommitStatus,
)
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError, LockedError
from support.builders.data_directory import NOON, Moment, prepared, prepared_on_postgres
from support.builders.databases import KINDS, manifest_row
from support.builders.filled_store import WIDE, fill, filled
from support.builders.ledgers import admitted, charge_row
from support.builders.store_copies import copy_store, restore
from support.builders.store_reports import COLLECTION, EPOCH, EVERY_EPOCH, arrivals, sums
from support.processes import postgres_server
from support.tiers import by_tier, grid, rows

PASSPHRASE = "correct horse battery"
OTHER = {"sqlite": "postgres", "postgres": "sqlite"}


@pytest.fixture(params=KINDS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """A prepared directory over a store of either kind that holds something in every table."""
    folder = tmp_path / "old"
    folder.mkdir()
    if request.param == "sqlite":
        yield filled(folder)
        return
    made = prepared_on_postgres(folder)
    fill(made)
    yield made
    drop(made)


def kind_of(settings: Settings) -> str:
    return "postgres" if settings.shared else "sqlite"


def empty(kind: str, folder: Path) -> Settings:
    """A place to restore into."""
    if kind == "sqlite":
        return Settings(data=folder / "data")
    return Settings(data=folder / "data", store=postgres_server.empty())


def drop(settings: Settings) -> None:
    if settings.shared:
        postgres_server.drop(settings.store)


class Pipe(BytesIO):
    """Read once, from its beginning to its end."""

    def seekable(self) -> bool:
        return False


def restored(target: Settings, path: Path | BytesIO, **more: bool) -> copying.RestoreResult:
    return copying.restore(
        target,
        path,
        passphrase=lambda: PASSPHRASE,
        nothing_released_since=more.get("nothing_released_since", True),
    )


def content(settings: Settings) -> dict[str, TableDigest]:
    with snapshot(settings) as found:
        return digests(found)


def tallies(settings: Settings) -> list[tuple[int, int, list[int]]]:
    store = open_store(settings)
    found = [
        (row.key.epoch, row.n, row.tally.tolist())
        for row in store.tallies(COLLECTION, *EVERY_EPOCH)
    ]
    store.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    grid([False, True], by_default=[True]),
    ids={False: "same kind", True: "other kind"}.get,
)
def test_a_restored_store_has_every_row_of_the_one_backed_up(
    settings: Settings, tmp_path: Path, other: bool
) -> None:
    kind = OTHER[kind_of(settings)] if other else kind_of(settings)
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    target = empty(kind, tmp_path / "new")
    assert not restored(target, path).behind
    before, after = content(settings), content(target)
    assert after.pop("audit").rows == before["audit"].rows + 1  # the restore itself
    assert after == {name: rows for name, rows in before.items() if name != "audit"}
    assert all(table.rows for table in before.values())
    assert tallies(target) == tallies(settings)
    with closing(open_store(target)) as store:
        assert store.collections()[COLLECTION].archived
        assert [row.collection for row in store.deleted_manifests()] == ["mistake-aaaaaa"]
    drop(target)


@pytest.mark.slow
@pytest.mark.parametrize("settings", grid(KINDS, by_default=["sqlite"]), indirect=True)
def test_access_and_audit_log_are_restored_but_no_session_is(
    settings: Settings, tmp_path: Path
) -> None:
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    target = empty(OTHER[kind_of(settings)], tmp_path / "new")
    restored(target, path)
    before, store = open_store(settings), open_store(target)
    assert len(before.sessions()) == 1
    assert store.sessions() == []
    assert (store.users(), store.tokens()) == (before.users(), before.tokens())
    assert store.add_user(User("bob", "viewer", None, "scrypt$…", int(NOON)), audit=None)
    assert audit.verify(store.audit())[1].hex() == store.audit_head()[1]
    assert store.audit()[:-1] == before.audit()
    before.close()
    store.close()
    drop(target)


@pytest.mark.slow
@pytest.mark.parametrize("settings", grid(KINDS, by_default=["sqlite"]), indirect=True)
def test_a_restored_store_goes_on_counting_where_the_other_one_was(
    settings: Settings, tmp_path: Path
) -> None:
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    target = empty(OTHER[kind_of(settings)], tmp_path / "new")
    restored(target, path)
    store = open_store(target)
    again = store.commit(arrivals(range(29, 34), WIDE, epoch=EPOCH + 1), sums)
    assert again == [CommitStatus.COUNTED, *[CommitStatus.DUPLICATE] * 3, CommitStatus.COUNTED]
    assert set(store.commit(arrivals([99], WIDE), sums)) == {CommitStatus.CLOSED}
    store.add_manifest(manifest_row("other-4kqz0m"), audit=None)
    store.commit(arrivals(range(2), b"\1", epoch=EPOCH + 9), sums)
    store.charge(charge_row(3), admitted, audit=None)
    assert len(store.ledger()) == 3
    store.close()
    drop(target)


@pytest.mark.slow
@pytest.mark.parametrize("settings", grid(KINDS, by_default=["sqlite"]), indirect=True)
def test_a_copy_there_and_back_is_the_same(settings: Settings, tmp_path: Path) -> None:
    before = content(settings)
    there = empty(OTHER[kind_of(settings)], tmp_path)
    address = there.store or f"sqlite:///{tmp_path / 'copy.db'}"
    assert copy_store(settings, address).tables == before
    back = f"sqlite:///{tmp_path / 'back.db'}"
    copy_store(replace(settings, store=address), back)
    assert content(replace(settings, store=back)) == before
    with pytest.raises(StoreError, match="empty"):
        copy_store(settings, address)
    drop(there)


@pytest.mark.slow
def test_a_service_goes_on_with_a_copy(tmp_path: Path) -> None:
    old = prepared(tmp_path / "old")
    service = Service.open(old, clock=Moment())
    service.tick()
    service.close()
    heads = (old.data / "heads.json").read_bytes()
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    copy_store(old, copy)
    assert (old.data / "heads.json").read_bytes() == heads
    for settings in (replace(old, store=copy), old):
        service = Service.open(settings, clock=Moment())
        service.tick()
        assert not service.rollback_guard.behind
        service.close()


def test_a_move_whose_address_cannot_be_saved_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(data: Path, settings: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(copying, "keep", refuse)
    with pytest.raises(StoreError, match=r"is filled, but .*deniable\.toml cannot be written"):
        copy_store(prepared(tmp_path / "old"), f"sqlite:///{tmp_path / 'copy.db'}")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("postgresql://me:se?cret@db.example.org/x", "the PostgreSQL database x at db.example.org"),
        ("postgresql://db/x?user=me&password=secret", "the PostgreSQL database x at db"),
        ("postgresql://", "the PostgreSQL database"),
        ("sqlite:////srv/x.db", "the SQLite file /srv/x.db"),
    ],
)
def test_the_place_of_a_store_has_no_password(address: str, place: str) -> None:
    assert place_of(Settings(store=address)) == place


def count_one_report(store: Store) -> None:
    store.commit(arrivals(range(50, 51), WIDE, epoch=EPOCH + 1), sums)


def charge(store: Store) -> None:
    store.charge(charge_row(3), admitted, audit=None)


@pytest.mark.parametrize(
    ("settings", "act"),
    rows(
        product(KINDS, [count_one_report, charge]),
        by_default=[("sqlite", count_one_report), ("postgres", charge)],
    ),
    indirect=["settings"],
)
def test_an_older_backup_is_no_copy(
    settings: Settings, act: Callable[[Store], None], tmp_path: Path
) -> None:
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    with closing(open_store(settings)) as store:
        act(store)
    with pytest.raises(StoreError, match="stop the service"):
        restore(settings, path, f"sqlite:///{tmp_path / 'copy.db'}")
    assert not list(tmp_path.glob("copy.db*"))


@pytest.mark.parametrize("settings", grid(KINDS, by_default=["sqlite"]), indirect=True)
def test_a_copy_of_another_installation_is_refused(settings: Settings, tmp_path: Path) -> None:
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    (settings.data / "trust").write_text("another operator\n")
    with pytest.raises(DataDirectoryError, match="names another operator"):
        restore(settings, path, f"sqlite:///{tmp_path / 'copy.db'}")


def test_a_store_that_is_being_served_is_not_copied(settings: Settings, tmp_path: Path) -> None:
    lock = DirectoryLock.acquire(settings.data, shared=settings.shared)
    with pytest.raises(LockedError):
        copy_store(settings, f"sqlite:///{tmp_path / 'copy.db'}")
    lock.release()
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("kind", grid(KINDS, by_default=["sqlite"]))
def test_a_cut_pipe_restores_nothing(kind: str, tmp_path: Path) -> None:
    old = filled(tmp_path / "old")
    whole = BytesIO()
    copying.write_backup(old, whole, None, NOON)
    data, target = whole.getvalue(), empty(kind, tmp_path / "new")
    for length in (0, 1, len(data) // 2, len(data) - 23, len(data) - 1):
        with pytest.raises(StoreError, match="standard input is no backup, or was cut off"):
            restored(target, Pipe(data[:length]))
        assert {path.name for path in target.data.iterdir()} <= {"lock"}
    restored(target, Pipe(data))
    assert content(target)["seen"] == content(old)["seen"]
    drop(target)


def test_a_backup_that_stops_half_way_restores_nothing(tmp_path: Path) -> None:
    old, stream = prepared(tmp_path / "old"), BytesIO()

    def watch(step: str) -> None:
        if step == "Backing up users":
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        copying.write_backup(old, stream, None, NOON, watch=watch)
    target = Settings(data=tmp_path / "new" / "data")
    with pytest.raises(StoreError, match="cut off"):
        restored(target, Pipe(stream.getvalue()))
    assert not (target.data / "deniable.db").exists()


@pytest.mark.slow
@pytest.mark.deeper
def test_a_backup_under_load_is_one_moment_of_the_store(settings: Settings, tmp_path: Path) -> None:
    store, stop = open_store(settings), threading.Event()

    def upload(first: int) -> None:
        number = first
        while not stop.is_set():
            numbers = range(number, number + 5)
            store.commit(arrivals(numbers, WIDE, epoch=EPOCH + 3), sums)
            number += 5

    threads = [threading.Thread(target=upload, args=(1_000_000 * k,)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    paths = [
        copying.back_up(settings, tmp_path / f"{k}.zip", None, NOON) for k in range(by_tier(1, 2))
    ]
    stop.set()
    for thread in threads:
        thread.join()
    store.close()
    for number, path in enumerate(paths):
        target = empty(OTHER[kind_of(settings)], tmp_path / str(number))
        restored(target, path)
        for epoch, n, tally in tallies(target):
            assert tally == [n * byte for byte in (WIDE if epoch < EPOCH + 2 or n > 3 else b"\1")]
        ids = content(target)["seen"].rows
        assert ids == sum(n for epoch, n, _ in tallies(target) if epoch > EPOCH)
        drop(target)


@pytest.mark.slow
@pytest.mark.parametrize("settings", grid(KINDS, by_default=["sqlite"]), indirect=True)
def test_private_keys_are_in_a_backup_only_when_asked_for(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)  # its cost: test_backed_up_keys.py
    secrets = [path.read_bytes().strip() for path in (settings.data / "keys").glob("*.key")]
    without = copying.back_up(settings, tmp_path / "without.zip", None, NOON)
    sealed = copying.back_up(settings, tmp_path / "with.zip", PASSPHRASE, NOON)
    for path, expected in ((without, False), (sealed, True)):
        with zipfile.ZipFile(path) as zipped:
            assert ("keys.sealed" in zipped.namelist()) == expected
            whole = b"".join(zipped.read(name) for name in zipped.namelist())
        assert secrets
        assert all(secret not in whole for secret in secrets)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_restored_over_what_is_there(settings: Settings, tmp_path: Path) -> None:
    path = copying.back_up(settings, tmp_path / "b.zip", None, NOON)
    before = content(settings)
    with pytest.raises(StoreError, match="exists already"):
        copying.back_up(settings, path, None, NOON)
    if settings.shared:
        with pytest.raises(StoreError, match="in use already"):
            restored(replace(settings, data=tmp_path / "new"), path)
        assert not (tmp_path / "new" / "heads.json").exists()
    else:
        with pytest.raises(DataDirectoryError, match="must be empty"):
            restored(settings, path)
    assert content(settings) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "kind"),
    rows(
        product(["cells", "log", "seen"], KINDS),
        by_default=[("cells", "sqlite"), ("log", "postgres"), ("seen", "sqlite")],
    ),
)
def test_a_damaged_archive_leaves_an_empty_place(kind: str, table: str, tmp_path: Path) -> None:
    old = filled(tmp_path / "old")
    path = copying.back_up(old, tmp_path / "b.zip", None, NOON)
    damaged = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path) as good, zipfile.ZipFile(damaged, "w") as bad:
        for name in good.namelist():
            data = good.read(name)
            lines = data.splitlines(keepends=True)
            bad.writestr(name, b"".join(lines[:-1]) if name.endswith(f"{table}.jsonl") else data)
    target = empty(kind, tmp_path / "new")
    with pytest.raises(StoreError):
        restored(target, damaged)
    assert not (target.data / "deniable.db").exists()
    assert not restored(target, path).behind
    after = content(target)
    assert after.pop("audit").rows == content(old)["audit"].rows + 1
    assert after.items() < content(old).items()
    drop(target)
