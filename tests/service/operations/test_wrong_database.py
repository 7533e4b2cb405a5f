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
        return self.world.service.settings.database

    def close(self) -> None:
        self.world.service.close()

    def open(self) -> None:
        """Start again, as another process does."""
        settings = self.world.service.settings
        self.world.service = Service.open(settings, clock=self.world.clock)
        self.world.app = create_app(self.world.service)

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
def site(tmp_path: Path) -> Iterator[Site]:
    with opened(tmp_path) as world:
        made = Site(world, world.register(authored("theme")))
        yield made
        made.close()


def removed(site: Site) -> None:
    with site.closed():
        for path in files_of(site.database):
            path.unlink()


def older(site: Site) -> None:
    """The copy that was made when the directory was prepared."""
    with site.closed():
        for path in files_of(site.database):
            path.unlink()
        shutil.copy(site.database.with_name("prepared.copy"), site.database)


def emptied(site: Site) -> None:
    with site.closed(), closing(sqlite3.connect(site.database)) as db:
        named = db.execute("select name from sqlite_master where type = 'trigger'").fetchall()
        for (name,) in named:
            db.execute(f"drop trigger {name}")
        tables = db.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (name,) in tables:
            if name not in ("alembic_version", "sqlite_sequence"):
                db.execute(f"delete from {name}")  # noqa: S608  (the names in it are fixed)
        db.commit()


@pytest.mark.parametrize("damage", [removed, older, emptied])
def test_uploads_wait_until_the_operator_reconciles(
    tmp_path: Path, damage: Callable[[Site], None]
) -> None:
    with opened(tmp_path) as world:
        settings = world.service.settings
        world.service.close()
        shutil.copy(settings.database, settings.database.with_name("prepared.copy"))
        world.service = Service.open(settings, clock=world.clock)
        world.app = create_app(world.service)
        site = Site(world, world.register(authored("theme")))
        report = world.report(site.collection, BITS)
        assert world.upload(site.collection, report).status_code == 200
        damage(site)
        answer = world.upload(site.collection, report)
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.get_json(force=True)["detail"] == BEHIND
        assert "deniable ledger reconcile" in site.ready()
        assert [world.get(path, None).status_code for path in SIGNED] == [503] * 3
        world.service.tick()
        assert world.upload(site.collection, report).status_code == 503
        gap = world.service.reconcile(audit=None)
        assert gap.lost == (site.collection.id,)
        assert site.ready() == "ready"
        assert world.upload(site.collection, report).status_code == 503
        again = world.register(authored("theme"))
        assert again.id == site.collection.id
        assert world.upload(again, world.report(again, BITS)).status_code == 200
        assert world.service.reconcile(audit=None).lost == ()
        site.close()


def test_a_fresh_directory_takes_uploads_and_knows_no_collection(site: Site) -> None:
    assert site.ready() == "ready"
    assert site.upload() == 200
    assert site.world.send("POST", "/v1/collections/none/reports", None).status_code == 415
    assert site.world.get("/v1/collections/none/manifest", None).status_code == 404


def test_a_registration_is_known_outside_of_the_database_at_once(site: Site) -> None:
    heads = heads_file.read(site.world.service.settings.data)
    assert heads is not None
    assert heads.collections == (site.collection.id,)
    assert heads.log.size == site.world.service.store.log_head()[0]


def test_after_a_registration_the_file_alone_has_it(site: Site, tmp_path: Path) -> None:
    copy = tmp_path / "copied.db"
    shutil.copyfile(site.database, copy)
    with closing(SqliteStore(copy)) as store:
        assert store.collections().keys() == {site.collection.id}


def test_nothing_is_registered_in_a_wrong_database(site: Site) -> None:
    removed(site)
    with pytest.raises(Problem) as caught:
        site.world.register(authored("other"))
    assert caught.value.slug == "unavailable"
    assert site.world.service.store.collections() == {}


def test_a_wrong_database_destroys_no_key(tmp_path: Path) -> None:
    """Without a collection every epoch is over, so that housekeeping would destroy expired keys."""
    with opened(tmp_path) as world:
        world.service.keys.rotate(at_once=True, audit=None)
        settings = world.service.settings
        world.service.close()
        copy = shutil.copy(settings.database, tmp_path / "copy.db")
        world.service = Service.open(settings, clock=world.clock)
        world.app = create_app(world.service)
        site = Site(world, world.register(authored("theme")))
        with site.closed():
            for path in files_of(site.database):
                path.unlink()
            shutil.copy(copy, site.database)
        world.clock.now += 86_400
        for _ in range(2):
            world.service.tick()
        assert (settings.data / "keys" / "report-1.key").exists()
        site.close()


def test_the_right_database_put_back_is_served_without_a_command(site: Site) -> None:
    kept = site.database.with_name("kept")
    site.close()
    site.database.rename(kept)
    site.open()
    assert site.upload() == 503
    with site.closed():
        for path in files_of(site.database):
            path.unlink()
        kept.rename(site.database)
    assert site.upload() == 200
    assert site.ready() == "ready"


def test_a_lost_database_is_noticed_without_heads_json(site: Site) -> None:
    with site.closed():
        (site.database.parent / "heads.json").unlink()
        for path in files_of(site.database):
            path.unlink()
    assert site.upload() == 503
    with site.closed():
        pass
    assert site.upload() == 503


def test_a_database_replaced_while_it_is_open_takes_nothing_more(site: Site) -> None:
    assert site.upload() == 200
    copy = site.database.with_name("copy")
    shutil.copy(site.database, copy)
    copy.replace(site.database)
    assert site.upload() == 503
    site.world.service.tick()
    assert site.upload() == 503
    assert "restart the service" in site.ready()


def test_a_spool_keeps_the_reports_of_a_lost_collection(site: Site, tmp_path: Path) -> None:
    world = site.world
    report = world.report(site.collection, BITS)
    folder = spools.spool(
        tmp_path / "spool", [[SpooledReport(site.collection.id, report.encode())]]
    )
    removed(site)
    for _ in range(2):  # before and after the database is accepted as it is
        with pytest.raises(Problem) as opening:
            SpoolConsumer(world.service, folder).run_once(at_once=True)
        with pytest.raises(Problem) as tallying:
            spools.tally(world.service, folder, spools.here)
        assert opening.value.slug == tallying.value.slug == "unavailable"
        world.service.reconcile(audit=None)
    again = world.register(authored("theme"))
    assert SpoolConsumer(world.service, folder).run_once(at_once=True) == 1
    assert [row.n for row in world.service.store.epochs(again.id)] == [1]


def test_charges_of_a_lost_collection_cost_its_whole_budget_once_it_is_back(site: Site) -> None:
    world = site.world
    manifest = authored("paid", read="releases", more=MORE)
    collection = world.register(manifest)
    for epoch in (FIRST, LAST):
        world.count(collection, [BITS] * 5, epoch=epoch)
    spender = ReleaseWorld(world, collection)
    spender.releases.release(collection, asked("0.25", epochs=over(FIRST)), audit=None)
    removed(site)
    gap = world.service.reconcile(audit=None)
    assert gap.charged == ()
    assert gap.lost == tuple(sorted((site.collection.id, collection.id)))
    again = world.register(manifest)
    assert [row.epsilon for row in world.service.store.charges(again.id)] == ["1"]
    assert world.service.store.charges(world.register(authored("theme")).id) == []
    world.service.rollback_guard.advance()
    heads = heads_file.read(world.service.settings.data)
    assert heads is not None
    assert heads.owed == ()


def test_an_interrupted_registration_of_one_that_owes_makes_releases_wait(site: Site) -> None:
    world = site.world
    with site.closed():
        heads = heads_file.read(site.database.parent)
        assert heads is not None
        heads_file.write(site.database.parent, replace(heads, owed=(site.collection.id,)))
    assert site.upload() == 200
    with pytest.raises(Problem, match="registered again"):
        world.service.rollback_guard.advance()
    assert [row.epsilon for row in world.service.reconcile(audit=None).charged] != []
    world.service.rollback_guard.advance()


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_made_new_is_noticed(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path, kind=kind) as world:
        site = Site(world, world.register(authored("theme")))
        with site.closed():
            if kind == "sqlite":
                removed_files = files_of(site.database)
                for path in removed_files:
                    path.unlink()
            else:
                address = world.service.settings.store
                name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
                postgres_server.drop(address)
                postgres_server.empty(str(name))
        assert site.upload() == 503
        assert world.get("/v1/keys", None).status_code == 503
        world.service.reconcile(audit=None)
        assert site.upload() == 503
        world.register(authored("theme"))
        assert site.upload() == 200
        site.close()


def test_no_key_is_rotated_with_the_wrong_database_by_api_or_page(site: Site) -> None:
    """The page once asked for the right clock only."""
    removed(site)
    world = site.world
    keys = world.service.keys.listed_keys
    admin = Browser.signed_in(world.app, world.service, "admin")
    assert admin.post("/keys", act="key-rotated", suite="1", now="true").status_code == 503
    token = world.service.tokens.create("admin", "admin", audit=None)[1]
    rotate = world.app.test_client().post(
        "/v1/keys/rotate", headers={"Authorization": f"Bearer {token}"}
    )
    assert rotate.status_code == 503
    assert world.service.keys.listed_keys == keys


def test_another_process_that_makes_the_database_new_stops_this_one(tmp_path: Path) -> None:
    with opened(tmp_path, kind="postgres") as world:
        site = Site(world, world.register(authored("theme")))
        address = world.service.settings.store
        name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        postgres_server.drop(address)
        postgres_server.empty(str(name))
        other = Service.open(world.service.settings, clock=world.clock)
        try:
            wait_for_a_look(world.service)
            assert "restart the service" in site.ready()
            with pytest.raises(Problem, match="restart the service"):
                world.service.reconcile(audit=None)
            other.reconcile(audit=None)
            assert other.suspension.names == ()
            wait_for_a_look(world.service)
            assert site.upload() == 503
        finally:
            other.close()


def wait_for_a_look(service: Service) -> None:
    """Connections that were cut are made anew by the pool: the first tick may meet one of them."""
    from support.processes.deniable_command import wait_until

    def looked() -> bool:
        try:
            service.tick()
        except Exception:
            return False
        return True

    wait_until("the database answers", looked)
