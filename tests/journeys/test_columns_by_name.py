"""Names decide which value is which: neither the order of a table's columns nor a statement's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_aggregator.web.app import create_app
from deniable_gateway.relay.queue import Batch, ReportQueue
from deniable_gateway.upload.sealed_uploads import SealedReport
from deniable_shared.wire.report import Report, ReportHeader
from support.builders import kept_state
from support.builders.data_directory import Moment
from support.builders.kept_state import Kept
from support.doubles.reordered_databases import (
    ReversingConnection,
    ReversingRow,
    reverse_dump,
    reverse_file,
    reverse_state,
)
from support.processes import postgres_server
from support.tiers import grid


@pytest.fixture(scope="module")
def kept() -> Kept:
    return Kept.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return kept_state.copied(tmp_path / "kept")


@pytest.fixture(params=grid(["sqlite", "postgres"], by_default=["sqlite"]))
def reordered(request: pytest.FixtureRequest, folder: Path) -> Iterator[Settings]:
    """The kept data, every table with its last column first."""
    kind = str(request.param)
    if kind == "sqlite":
        reverse_file(folder / "sqlite" / "data" / "deniable.db")
        yield Settings(data=folder / "sqlite" / "data")
        return
    dump = folder / "postgres" / "database.sql"
    dump.write_text(reverse_dump(dump.read_text()))
    address = kept_state.restored_database(folder)
    yield Settings(data=folder / "postgres" / "data", store=address)
    postgres_server.drop(address)


def test_a_store_with_its_columns_reversed_answers_the_same(
    reordered: Settings, kept: Kept, folder: Path
) -> None:
    kind = "postgres" if reordered.shared else "sqlite"
    with kept_state.opened(reordered, kept.now) as (service, app):
        assert kept_state.answers(app, kept) == {**kept.answers["sqlite"], **kept.answers[kind]}
        service.tick()
        assert service.database.check()
        assert kept_state.drained(service, kept, folder / "spool") == kept.spool


def test_a_store_with_reversed_columns_answers_the_same(folder: Path, kept: Kept) -> None:
    settings = Settings(data=folder / "sqlite" / "data")
    store = SqliteStore(settings.database, factory=ReversingConnection)
    service = Service.open(settings, clock=Moment(kept.now), store=store)
    try:
        app = create_app(service)
        assert kept_state.answers(app, kept) == kept.answers["sqlite"]
        service.tick()
        assert service.database.check()
        assert kept_state.drained(service, kept, folder / "spool") == kept.spool
    finally:
        service.close()


def test_a_state_file_with_its_columns_reversed_goes_on_the_same(folder: Path, kept: Kept) -> None:
    reverse_state(folder / "client.db")
    settings = Settings(data=folder / "sqlite" / "data")
    with kept_state.opened(settings, kept.now) as (_, app):
        assert kept_state.device_story(app, kept, folder / "client.db") == kept.client


def test_a_client_whose_rows_come_backwards_goes_on_the_same(
    folder: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=folder / "sqlite" / "data")
    with kept_state.opened(settings, kept.now) as (_, app):
        monkeypatch.setattr(sqlite3, "Row", ReversingRow)
        assert kept_state.device_story(app, kept, folder / "client.db") == kept.client


@pytest.mark.parametrize("backwards", [False, True], ids=["table", "rows"])
def test_a_relay_passes_on_the_same_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    path = tmp_path / "relay.db"
    reports = [Report(ReportHeader(bytes([n] * 16), 7, 1, 2), b"sealed") for n in range(3)]
    with closing(ReportQueue(path)) as queue:
        assert (
            queue.accept([SealedReport("settings-aaaaaa", each) for each in reports]) == [True] * 3
        )
    if backwards:
        monkeypatch.setattr(sqlite3, "Row", ReversingRow)
    else:
        reverse_file(path)
    with closing(ReportQueue(path)) as queue:
        queue.close_batches(2)
        [batch] = queue.batches()
        size = len(reports[0].encode())
        assert batch == Batch(batch.number, "settings-aaaaaa", 7, size)
        assert queue.report_ids(batch.number) == [each.header.report_id for each in reports]
        assert queue.report(batch, reports[0].header.report_id) == reports[0].encode()
        assert queue.epochs() == [("settings-aaaaaa", 7)]
        assert queue.counts() == {"accepted": 3}
