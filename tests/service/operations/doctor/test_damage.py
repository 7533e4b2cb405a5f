"""Damage in a database is noticed: no number is shown that was not counted."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.base.errors import DamagedError, StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup.copying import back_up
from deniable_aggregator.operations.doctor.damage import damage_checks
from deniable_aggregator.queries import pooled_tallies
from deniable_aggregator.store import stored_tallies
from deniable_aggregator.store.checksums import BODY_MASK, PRIME, body, seal, seal_increment
from deniable_aggregator.store.rows import PAGE_SIZE, KeyedTally
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_estimators.inference.support_counts import HistogramEstimator, SupportEstimator
from deniable_gateway.spool.directory import DRAFT_SECONDS, DirectorySpool
from support.builders.api_world import authored, opened
from support.builders.damaged_database import Found, Original, flipped, found_in, original
from support.builders.databases import KINDS, AnyStore, Database, fresh, unfilled
from support.builders.ledgers import admitted, charge_row
from support.builders.previous_schema import postgres_before, sqlite_before
from support.builders.store_reports import COLLECTION, EPOCH, arrival, sums
from support.builders.store_reports import counted as counted_in
from support.tiers import by_tier, rows

FEW = by_tier(3, 40)
MANY = 500


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Original:
    return original(tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="module")
def right(undamaged: Original, tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("right") / "data"
    shutil.copytree(undamaged.settings.data, folder)
    found = found_in(flipped_by_none(undamaged, folder), undamaged)
    assert {path for path, (status, _) in found.answers.items() if status != 200} == set()
    return found


def flipped_by_none(undamaged: Original, folder: Path) -> Settings:
    return replace(undamaged.settings, data=folder, store="")


def verdicts(undamaged: Original, right: Found, folder: Path, number: int) -> Counter[str]:
    """How many variants gave the same, refused, were not opened, or were wrong."""
    seen: Counter[str] = Counter()
    for seed in range(number):
        place = folder / "data"
        verdict = judged(found_in(flipped(undamaged, place, seed), undamaged), right)
        seen[verdict] += 1
        shutil.rmtree(place)
    return seen


def judged(found: Found, right: Found) -> str:
    if found.refusal:
        named = "`deniable store restore`" in found.refusal
        return "not opened" if named else f"not opened, without a cure: {found.refusal}"
    verdict = "same"
    for address, (status, said) in found.answers.items():
        if status == 200 and said != right.answers[address][1]:
            return "wrong"
        if status != 200:
            verdict = "refused"
    return verdict


def only_honest(seen: Counter[str]) -> bool:
    """Whether every variant gave the same numbers, refused, or was not opened and said the cure."""
    return seen.keys() <= {"same", "refused", "not opened"}


@pytest.mark.slow
@pytest.mark.deeper
def test_some_flipped_databases_show_no_wrong_number(
    undamaged: Original, right: Found, tmp_path: Path
) -> None:
    assert only_honest(seen := verdicts(undamaged, right, tmp_path, FEW)), seen


@pytest.mark.long
def test_five_hundred_flipped_databases_show_no_wrong_number(
    undamaged: Original, right: Found, tmp_path: Path
) -> None:
    seen = verdicts(undamaged, right, tmp_path, MANY)
    print(dict(seen))
    assert only_honest(seen), seen


@pytest.mark.exhaustive
@pytest.mark.slow
def test_without_verification_the_same_databases_show_wrong_numbers(
    undamaged: Original, right: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        stored_tallies.UncheckedTally, "checked", lambda row: KeyedTally(row.key, row.n, row.tally)
    )
    monkeypatch.setattr(pooled_tallies, "require_possible", lambda estimator, row: row)
    for estimator in (SupportEstimator, HistogramEstimator):
        monkeypatch.setattr(estimator, "checked", lambda self, tally, n: (tally, n))
    assert verdicts(undamaged, right, tmp_path, FEW)["wrong"] > 0


DAMAGE = {
    "a count": "update pages set counts = x'0500000000000000'",
    "a page of another length": "update pages set counts = x'05'",
    "a lost page": "delete from pages",
    "n": "update cells set n = n + 1",
    "the epoch of a cell": "update cells set epoch = epoch + 16",
    "the length of a tally": "update cells set tally_size = 1073741825",
}


@pytest.mark.parametrize(
    ("database", "kind"),
    rows(
        product(KINDS, DAMAGE),
        by_default=lambda row: row[0] == "sqlite" or row[1] in {"a count", "the epoch of a cell"},
    ),
    indirect=["database"],
)
def test_damage_stays_noticed_while_reports_are_added(
    database: Database, store: AnyStore, kind: str
) -> None:
    store.commit([arrival(1)], sums)
    store.roll_up()
    database.execute(DAMAGE[kind])
    epoch = EPOCH + 16 * (kind == "the epoch of a cell")
    for number in (2, 3):
        with pytest.raises(DamagedError):
            store.tallies(COLLECTION, epoch, epoch)
        store.commit([arrival(number)], sums)
        store.roll_up()
    store.commit([arrival(4, epoch=EPOCH + 1)], sums)
    [healthy] = store.tallies(COLLECTION, EPOCH + 1, EPOCH + 1)
    assert (healthy.n, healthy.tally.tolist()) == (1, [1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "update deltas set counts = x'0500000000000000'",
        "update deltas set counts = x'05'",
        "update deltas set n = n + 1",
    ],
)
def test_a_damaged_delta_is_refused_before_and_after_the_roll_up(
    tmp_path: Path, statement: str
) -> None:
    database = fresh("postgres", tmp_path)
    store = database.open()
    store.commit([arrival(1)], sums)
    database.execute(statement)
    for _ in range(2):
        with pytest.raises(DamagedError):
            store.tallies(COLLECTION, EPOCH, EPOCH)
        store.roll_up()
    store.close()
    database.delete()


def test_a_damaged_n_is_no_number_anywhere(database: Database, store: AnyStore) -> None:
    store.commit([arrival(1)], sums)
    store.roll_up()
    database.execute("update cells set n = 7")
    [row] = store.epochs(COLLECTION)
    with pytest.raises(DamagedError):
        _ = row.n


def test_a_damaged_entry_of_the_ledger_is_refused(database: Database, store: AnyStore) -> None:
    store.charge(charge_row(1), admitted, audit=None)
    if database.address.startswith("sqlite"):
        database.execute("drop trigger charges_are_not_changed")
    else:
        database.execute("alter table charges disable trigger user")
    database.execute("update charges set epsilon = '1/1'")
    with pytest.raises(DamagedError, match="ledger"):
        store.charges(COLLECTION)


@pytest.mark.slow
def test_counts_that_so_many_reports_cannot_give_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        found = world.register(authored("a", type="choice", more='mechanism = "grr/1"\n'))
        other = world.register(authored("b"))
        world.count(found, ["dark_mode"] * 4)
        world.count(other, [{"dark_mode": True, "beta": False}] * 4)
        with closing(sqlite3.connect(world.running.settings.database)) as db:
            tally = np.array([4, 1], "<i8")
            db.execute("update pages set counts = ? where cell = 1", (tally.tobytes(),))
            db.execute("update cells set body = ? where number = 1", (body(tally),))
            db.commit()
        answer = world.get(f"/v1/collections/{found.id}/estimates")
        assert (answer.status_code, json.loads(answer.data)["type"]) == (
            500,
            "urn:deniable:problem:damaged",
        )
        assert "of 2027-01-15" in json.loads(answer.data)["detail"]
        assert world.get(f"/v1/collections/{other.id}/estimates").status_code == 200
        assert world.page(f"/collections/{found.id}").status_code == 500
        settings = world.running.settings
        [check] = damage_checks(settings)
        assert check.level == "fail"
        assert found.id in check.message
        with pytest.raises(StoreError, match="damaged counts"):
            back_up(settings, tmp_path / "b.zip", None, 0.0)
        assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize("part", [b'"payload":"', b'"sig":"'])
def test_doctor_names_a_manifest_whose_envelope_is_damaged(tmp_path: Path, part: bytes) -> None:
    with opened(tmp_path) as world:
        found = world.register(authored("a"))
        settings = world.running.settings
        assert [check.level for check in damage_checks(settings)] == ["ok"]
        with closing(sqlite3.connect(settings.database)) as db:
            [[envelope]] = db.execute("select envelope from manifests").fetchall()
            bits = bytearray(envelope)
            bits[envelope.index(part) + len(part) + 20] ^= 1
            rules = db.execute(
                "select name from sqlite_master where type = 'trigger' and tbl_name = 'manifests'"
            )
            for (name,) in rules.fetchall():
                db.execute(f"drop trigger {name}")
            db.execute("update manifests set envelope = ?", (bytes(bits),))
            db.commit()
        checks = list(damage_checks(settings))
        assert {check.level for check in checks} == {"fail"}
        assert all(found.id in check.message for check in checks)
        assert all("`deniable store restore`" in check.message for check in checks)


def test_the_formulas_of_checksums_never_change() -> None:
    tally = np.arange(1, 10_001, dtype=np.int64)
    parts = [tally[start : start + PAGE_SIZE] for start in range(0, len(tally), PAGE_SIZE)]
    assert body(tally) == 273_754_903_953_017_644
    assert sum(body(part, page) for page, part in enumerate(parts)) & BODY_MASK == body(tally)
    assert seal(3, 1, 20_000, 1, 0, 2) == 390_936_024
    assert (seal(2, 1, 20_000, 1, 0, 2) + seal_increment(1)) % PRIME == 390_936_024


def test_an_upgrade_computes_the_checksums_of_what_is_there(tmp_path: Path) -> None:
    full = fresh("sqlite", tmp_path)
    store = full.open()
    store.commit([arrival(number, bytes([1, 2]) * 5_000) for number in range(3)], sums)
    store.charge(charge_row(1), admitted, audit=None)
    store.close_epoch(COLLECTION, EPOCH, 7, audit=None)
    wanted, charges = counted_in(store), store.charges(COLLECTION)
    store.close()
    sqlite_before(Path(full.address.removeprefix("sqlite:///")), tmp_path / "old.db")
    upgraded = SqliteStore(tmp_path / "old.db")
    assert counted_in(upgraded) == wanted
    assert upgraded.charges(COLLECTION) == charges
    assert [row.n for row in upgraded.epochs(COLLECTION)] == [3]
    upgraded.close()


@pytest.mark.slow
def test_an_upgrade_of_postgresql_computes_them_of_deltas_too(tmp_path: Path) -> None:
    full, old = fresh("postgres", tmp_path), unfilled("postgres", tmp_path)
    store = full.open()
    store.commit([arrival(1, b"\1\0\2")], sums)
    store.roll_up()
    store.commit([arrival(2, b"\0\0\3")], sums)
    wanted = counted_in(store)
    store.close()
    postgres_before(full.address, old.address)
    upgraded = old.open()
    assert counted_in(upgraded) == wanted
    assert [row.n for row in upgraded.epochs(COLLECTION)] == [2]
    upgraded.close()
    full.delete()
    old.delete()


def test_a_draft_is_removed_on_failure_or_by_the_consumer_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = DirectorySpool(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            spool.put("a", b"data")
    assert list(tmp_path.iterdir()) == []
    left = tmp_path / ".a.0011223344556677.draft"
    left.write_bytes(b"da")
    os.utime(left, (0, 0))  # as an intake leaves it
    born = left.stat().st_ctime
    spool.sweep(born + DRAFT_SECONDS - 1)
    assert left.exists()
    spool.sweep(born + DRAFT_SECONDS + 1)
    assert list(tmp_path.iterdir()) == []
