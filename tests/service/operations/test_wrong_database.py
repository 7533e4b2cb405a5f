"""A database that is not the one its data directory knows: uploads get 503, never 404.

The service says so in `/readyz`, gives out nothing that is signed, and goes on after `deniable
ledger reconcile`.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.doctor.audit_view import audit_check
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.releases.rollback_guard.guard import BEHIND
from deniable_aggregator.spool.consumer import SpoolConsumer
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_aggregator.web.app import create_app
from deniable_gateway.problem import Problem
from deniable_gateway.spool.block_format import SpooledReport
from support.builders import spools
from support.builders.api_world import World, authored, opened
from support.builders.databases import KINDS
from support.builders.release_world import BITS, FIRST, LAST, ReleaseWorld, asked, over
from support.doubles.browser import Browser
from support.processes import postgres_server

SIGNED = ("/v1/keys", "/v1/log", "/v1/collections/theme/manifest")
MORE = 'central = { per_epoch = "1", per_installation = "1", delta = "0" }\n'


@dataclass
class Site:
    """A world whose database can be damaged while it is closed."""

    world: World
    collection: Collection

    @property
    def database(self) -> Path:
        return self.world.running.settings.database

    def close(self) -> None:
        self.world.running.close()

    def open(self) -> None:
        """Start again, as another process does."""
        settings = self.world.running.settings
        self.world.running = Service.open(settings, clock=self.world.clock)
        self.world.app = create_app(self.world.running)

    @contextmanager
    def closed(self) -> Iterator[None]:
        self.close()
        yield
        self.open()

    def upload(self, collection: Collection | None = None) -> int:
        found = collection or self.collection
        return self.world.upload(found, self.world.report(found, BITS)).status_code

    def ready(self) -> str:
        """What `/readyz` has to say; "ready" where nothing is wrong."""
        answer = self.world.get("/readyz", None)
        return "ready" if answer.status_code == 200 else answer.get_json()["detail"]


def files_of(database: Path) -> list[Path]:
    return sorted(database.parent.glob(f"{database.name}*"))


@pytest.fixture
def wrong_site(tmp_path: Path) -> Iterator[Site]:
    with opened(tmp_path) as world:
        made = Site(world, world.register(authored("theme")))
        yield made
        made.close()


def removed(wrong_site: Site) -> None:
    with wrong_site.closed():
        for path in files_of(wrong_site.database):
            path.unlink()


def older(wrong_site: Site) -> None:
    """The copy that was made when the directory was prepared."""
    with wrong_site.closed():
        for path in files_of(wrong_site.database):
            path.unlink()
        shutil.copy(wrong_site.database.with_name("prepared.copy"), wrong_site.database)


def drop_triggers(db: sqlite3.Connection) -> None:
    named = db.execute("select name from sqlite_master where type = 'trigger'").fetchall()
    for (name,) in named:
        db.execute(f"drop trigger {name}")


def emptied(wrong_site: Site) -> None:
    with wrong_site.closed(), closing(sqlite3.connect(wrong_site.database)) as db:
        drop_triggers(db)
        tables = db.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (name,) in tables:
            if name not in ("alembic_version", "sqlite_sequence"):
                db.execute(f"delete from {name}")  # noqa: S608  (the names in it are fixed)
        db.commit()


@pytest.mark.slow
@pytest.mark.parametrize("damage", [removed, older, emptied])
def test_uploads_wait_until_the_operator_reconciles(
    tmp_path: Path, damage: Callable[[Site], None]
) -> None:
    with opened(tmp_path) as world:
        settings = world.running.settings
        world.running.close()
        shutil.copy(settings.database, settings.database.with_name("prepared.copy"))
        world.running = Service.open(settings, clock=world.clock)
        world.app = create_app(world.running)
        wrong_site = Site(world, world.register(authored("theme")))
        report = world.report(wrong_site.collection, BITS)
        assert world.upload(wrong_site.collection, report).status_code == 200
        damage(wrong_site)
        answer = world.upload(wrong_site.collection, report)
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.get_json(force=True)["detail"] == BEHIND
        assert "deniable ledger reconcile" in wrong_site.ready()
        assert [world.get(path, None).status_code for path in SIGNED] == [503] * 3
        world.running.tick()
        assert world.upload(wrong_site.collection, report).status_code == 503
        gap = world.running.reconcile(audit=None)
        assert gap.lost == (wrong_site.collection.id,)
        assert wrong_site.ready() == "ready"
        assert world.upload(wrong_site.collection, report).status_code == 503
        again = world.register(authored("theme"))
        assert again.id == wrong_site.collection.id
        assert world.upload(again, world.report(again, BITS)).status_code == 200
        assert world.running.reconcile(audit=None).lost == ()
        wrong_site.close()


def test_a_fresh_directory_takes_uploads_and_knows_no_collection(wrong_site: Site) -> None:
    assert wrong_site.ready() == "ready"
    assert wrong_site.upload() == 200
    assert wrong_site.world.send("POST", "/v1/collections/none/reports", None).status_code == 415
    assert wrong_site.world.get("/v1/collections/none/manifest", None).status_code == 404


def test_a_registration_is_known_outside_of_the_database_at_once(wrong_site: Site) -> None:
    heads = heads_file.read(wrong_site.world.running.settings.data)
    assert heads is not None
    assert heads.collections == (wrong_site.collection.id,)
    assert heads.log.size == wrong_site.world.running.store.log_head()[0]


def test_after_a_registration_the_file_alone_has_it(wrong_site: Site, tmp_path: Path) -> None:
    copy = tmp_path / "copied.db"
    shutil.copyfile(wrong_site.database, copy)
    with closing(SqliteStore(copy)) as store:
        assert store.collections().keys() == {wrong_site.collection.id}


def test_nothing_is_registered_in_a_wrong_database(wrong_site: Site) -> None:
    removed(wrong_site)
    with pytest.raises(Problem) as caught:
        wrong_site.world.register(authored("other"))
    assert caught.value.slug == "unavailable"
    assert wrong_site.world.running.store.collections() == {}


def test_a_wrong_database_destroys_no_key(tmp_path: Path) -> None:
    """Without a collection every epoch is over, so that housekeeping would destroy expired keys."""
    with opened(tmp_path) as world:
        world.running.keys.rotate(at_once=True, audit=None)
        settings = world.running.settings
        world.running.close()
        copy = shutil.copy(settings.database, tmp_path / "copy.db")
        world.running = Service.open(settings, clock=world.clock)
        world.app = create_app(world.running)
        wrong_site = Site(world, world.register(authored("theme")))
        with wrong_site.closed():
            for path in files_of(wrong_site.database):
                path.unlink()
            shutil.copy(copy, wrong_site.database)
        world.clock.now += 86_400
        for _ in range(2):
            world.running.tick()
        assert (settings.data / "keys" / "report-1.key").exists()
        wrong_site.close()


@pytest.mark.slow
def test_the_right_database_put_back_is_served_without_a_command(wrong_site: Site) -> None:
    kept = wrong_site.database.with_name("kept")
    wrong_site.close()
    wrong_site.database.rename(kept)
    wrong_site.open()
    assert wrong_site.upload() == 503
    with wrong_site.closed():
        for path in files_of(wrong_site.database):
            path.unlink()
        kept.rename(wrong_site.database)
    assert wrong_site.upload() == 200
    assert wrong_site.ready() == "ready"


@pytest.mark.slow
def test_a_lost_database_is_noticed_without_heads_json(wrong_site: Site) -> None:
    with wrong_site.closed():
        (wrong_site.database.parent / "heads.json").unlink()
        for path in files_of(wrong_site.database):
            path.unlink()
    assert wrong_site.upload() == 503
    with wrong_site.closed():
        pass
    assert wrong_site.upload() == 503


@pytest.mark.slow
def test_a_database_that_cannot_be_compared_with_heads_json_takes_nothing(wrong_site: Site) -> None:
    """As after a command of root: then the service may not read the file."""
    heads, settings = wrong_site.database.parent / "heads.json", wrong_site.world.running.settings
    kept = heads.rename(heads.with_name("kept"))
    with wrong_site.closed():
        heads.mkdir()
    assert wrong_site.upload() == 503
    assert "cannot be compared with heads.json" in wrong_site.ready()
    assert [wrong_site.world.get(path, None).status_code for path in SIGNED] == [503] * 3
    [check] = audit_check(settings)
    assert (check.level, f"{heads} cannot be read" in check.message) == ("fail", True)
    heads.rmdir()
    kept.rename(heads)
    wrong_site.world.running.tick()
    assert wrong_site.upload() == 200
    heads.rename(kept)
    heads.mkdir()
    wrong_site.world.running.tick()
    assert wrong_site.upload() == 200  # it is the database that was compared


def test_a_database_replaced_while_it_is_open_takes_nothing_more(wrong_site: Site) -> None:
    assert wrong_site.upload() == 200
    copy = wrong_site.database.with_name("copy")
    shutil.copy(wrong_site.database, copy)
    copy.replace(wrong_site.database)
    assert wrong_site.upload() == 503
    wrong_site.world.running.tick()
    assert wrong_site.upload() == 503
    assert "restart the service" in wrong_site.ready()


@pytest.mark.slow
def test_a_spool_keeps_the_reports_of_a_lost_collection(wrong_site: Site, tmp_path: Path) -> None:
    world = wrong_site.world
    report = world.report(wrong_site.collection, BITS)
    folder = spools.spool(
        tmp_path / "spool", [[SpooledReport(wrong_site.collection.id, report.encode())]]
    )
    removed(wrong_site)
    for _ in range(2):  # before and after the database is accepted as it is
        with pytest.raises(Problem) as opening:
            SpoolConsumer(world.running, folder).run_once(at_once=True)
        with pytest.raises(Problem) as tallying:
            spools.tally(world.running, folder, spools.here)
        assert opening.value.slug == tallying.value.slug == "unavailable"
        world.running.reconcile(audit=None)
    again = world.register(authored("theme"))
    assert SpoolConsumer(world.running, folder).run_once(at_once=True) == 1
    assert [row.n for row in world.running.store.epochs(again.id)] == [1]


@pytest.mark.slow
def test_a_lost_collection_is_charged_its_whole_budget_on_return(
    wrong_site: Site,
) -> None:
    world = wrong_site.world
    manifest = authored("paid", read="releases", more=MORE)
    collection = world.register(manifest)
    for epoch in (FIRST, LAST):
        world.count(collection, [BITS] * 5, epoch=epoch)
    spender = ReleaseWorld(world, collection)
    spender.releases.release(collection, asked("0.25", epochs=over(FIRST)), audit=None)
    removed(wrong_site)
    gap = world.running.reconcile(audit=None)
    assert gap.charged == ()
    assert gap.lost == tuple(sorted((wrong_site.collection.id, collection.id)))
    again = world.register(manifest)
    assert [row.epsilon for row in world.running.store.charges(again.id)] == ["1"]
    assert world.running.store.charges(world.register(authored("theme")).id) == []
    world.running.rollback_guard.advance()
    heads = heads_file.read(world.running.settings.data)
    assert heads is not None
    assert heads.owed == ()


def test_an_interrupted_registration_of_one_that_owes_makes_releases_wait(wrong_site: Site) -> None:
    world = wrong_site.world
    with wrong_site.closed():
        heads = heads_file.read(wrong_site.database.parent)
        assert heads is not None
        heads_file.write(
            wrong_site.database.parent, replace(heads, owed=(wrong_site.collection.id,))
        )
    assert wrong_site.upload() == 200
    with pytest.raises(Problem, match="registered again"):
        world.running.rollback_guard.advance()
    assert [row.epsilon for row in world.running.reconcile(audit=None).charged] != []
    world.running.rollback_guard.advance()


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_made_new_is_noticed(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path, kind=kind) as world:
        wrong_site = Site(world, world.register(authored("theme")))
        with wrong_site.closed():
            if kind == "sqlite":
                removed_files = files_of(wrong_site.database)
                for path in removed_files:
                    path.unlink()
            else:
                address = world.running.settings.store
                name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
                postgres_server.drop(address)
                postgres_server.empty(str(name))
        assert wrong_site.upload() == 503
        assert world.get("/v1/keys", None).status_code == 503
        world.running.reconcile(audit=None)
        assert wrong_site.upload() == 503
        world.register(authored("theme"))
        assert wrong_site.upload() == 200
        wrong_site.close()


def test_no_key_is_rotated_with_the_wrong_database_by_api_or_page(wrong_site: Site) -> None:
    """The page once asked for the right clock only."""
    removed(wrong_site)
    world = wrong_site.world
    keys = world.running.keys.listed_keys
    admin = Browser.signed_in(world.app, world.running, "admin")
    assert admin.post("/keys", act="key-rotated", suite="1", now="true").status_code == 503
    token = world.running.tokens.create("admin", "admin", audit=None)[1]
    rotate = world.app.test_client().post(
        "/v1/keys/rotate", headers={"Authorization": f"Bearer {token}"}
    )
    assert rotate.status_code == 503
    assert world.running.keys.listed_keys == keys


@pytest.mark.slow
def test_another_process_that_makes_the_database_new_stops_this_one(tmp_path: Path) -> None:
    with opened(tmp_path, kind="postgres") as world:
        wrong_site = Site(world, world.register(authored("theme")))
        address = world.running.settings.store
        name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        postgres_server.drop(address)
        postgres_server.empty(str(name))
        other = Service.open(world.running.settings, clock=world.clock)
        try:
            wait_for_a_look(world.running)
            assert "restart the service" in wrong_site.ready()
            with pytest.raises(Problem, match="restart the service"):
                world.running.reconcile(audit=None)
            other.reconcile(audit=None)
            assert other.suspension.names == ()
            wait_for_a_look(world.running)
            assert wrong_site.upload() == 503
        finally:
            other.close()


def wait_for_a_look(service: Service) -> None:
    """The pool replaces cut connections: the first tick may still get one of them."""
    from support.processes.deniable_command import wait_until

    def looked() -> bool:
        try:
            service.tick()
        except Exception:
            return False
        return True

    wait_until("the database answers", looked)
