"""A prepared directory whose store has something in every table."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from deniable_aggregator.access.rows import SessionRow, Token, User
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.store.opening import open_store
from deniable_aggregator.store.rows import AlertRow, BlockId, DeliveryRow, NoteRow
from support.builders.data_directory import NOON, prepared
from support.builders.databases import manifest_row
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.store_reports import COLLECTION, EPOCH, arrival, arrivals, sums

__all__ = ["WIDE", "fill", "filled"]

WIDE = bytes([1, 0, 2]) * 3_000
"""A payload whose tally has three pages."""
SIGNED_IN = SessionRow("s", b"\1" * 32, "ana", "viewer", None, "password", 0, 2**40)


def filled(folder: Path) -> Settings:
    """A copy of one over SQLite, which is filled once a process."""
    shutil.copytree(_filled(), folder, dirs_exist_ok=True)
    return Settings(data=folder / "data")


@cache
def _filled() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="deniable-filled-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fill(prepared(folder))
    return folder


def fill(settings: Settings) -> None:
    """Put something into every table of a store with nothing but its keys."""
    store = open_store(settings)
    store.add_manifest(manifest_row(), audit=None)
    store.commit(arrivals(range(7), WIDE), sums)
    store.roll_up()
    store.close_epoch(COLLECTION, EPOCH, NOON, audit=None)
    store.commit(arrivals(range(4), b"\1", epoch=EPOCH - 1), sums)
    store.close_epoch(COLLECTION, EPOCH - 1, NOON, audit=None)
    store.expire_epoch(COLLECTION, EPOCH - 1, NOON)
    store.commit(arrivals(range(20, 25), WIDE, epoch=EPOCH + 1), sums)
    store.roll_up()
    store.commit(arrivals(range(30, 33), WIDE, epoch=EPOCH + 1), sums)  # waits for the roll-up
    store.commit(arrivals(range(2), b"\1", epoch=EPOCH + 2), sums)
    store.commit([arrival(9, b"\1", epoch=EPOCH + 2, voucher=1)], sums)
    store.count_rejections(COLLECTION, {"cannot-open": 2, "too-early": 1})
    store.commit_blocks([(BlockId("nightly", "a.block"), [])], sums)
    store.set_spool_progress("/srv/spool", NOON)
    store.charge(charge_row(1), admitted, audit=None)
    store.store_result(result_row(1), b"record 0")
    store.add_record(charge_row(1).release, 1, b"record 1", audit=None)
    store.charge(charge_row(2), admitted, audit=None)
    store.add_user(User("ana", "viewer", (COLLECTION,), "scrypt$…", int(NOON)), audit=None)
    store.add_token(
        Token("a", "viewer", "x", bytes(32), int(NOON), collections=(COLLECTION,)), audit=None
    )
    store.add_session(SIGNED_IN, audit=None)
    store.add_manifest(manifest_row("mistake-aaaaaa"), audit=None)
    store.delete_collection("mistake-aaaaaa", lambda used: None, audit=None)
    store.set_collection_archived(COLLECTION, archived=True, audit=None)
    alert = AlertRow("a1", "https://example.org", b"key", "ana", 0, 1, "0.05", 9, 5)
    store.add_alert(COLLECTION, alert, audit=None)
    store.record_look("a1", 6, DeliveryRow("d1", "a1", alert.url, alert.secret, b"{}", 0))
    store.add_note(COLLECTION, NoteRow("n1", 0, "released 2.0", "ana", 0), audit=None)
    store.close()
