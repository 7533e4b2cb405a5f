"""A mistaken collection: taken off every list, or deleted before its first epoch begins."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.collections.registry import Collection, UnknownCollection
from deniable_aggregator.operations.doctor import log_audit
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.rollback_guard import heads_file
from deniable_aggregator.web.app import create_app
from deniable_gateway.problem import Problem
from deniable_shared.manifest.epochs import epoch_start
from support.builders.api_world import World, authored, opened
from support.builders.databases import KINDS
from support.builders.release_world import BITS
from support.builders.two_services import pair
from support.processes.deniable_command import SETTINGS_TOML, Deniable

LATER = "2027-01-20"
HEADS = "deniable_aggregator.releases.rollback_guard.guard.heads_file.write"


class Killed(BaseException):
    """In place of a kill -9."""


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path, kind=request.param) as made:
        yield made
        made.service.close()


@pytest.fixture
def theme(world: World) -> Collection:
    """One that people answer."""
    return world.register(authored("theme"))


@pytest.fixture
def mistake(world: World, theme: Collection) -> Collection:
    """One that begins later."""
    return world.register(authored("mistake", valid_from=LATER))


def reopen(world: World) -> None:
    """Start again, as after a kill."""
    settings = world.service.settings
    world.service.close()
    world.service = Service.open(settings, clock=world.clock)
    world.app = create_app(world.service)


def listed(world: World, query: str = "") -> dict[str, bool]:
    rows = world.get(f"/v1/collections{query}", None).get_json()["collections"]
    return {row["name"]: row["archived"] for row in rows}


def delete(world: World, collection: Collection) -> tuple[int, str]:
    answer = world.send("DELETE", f"/v1/collections/{collection.id}")
    return answer.status_code, answer.get_json()["detail"] if answer.data else ""


def upload(world: World, collection: Collection) -> int:
    return world.upload(collection, world.report(collection, BITS)).status_code


def uploads_go_on(world: World, collection: Collection) -> bool:
    return (world.get("/readyz", None).status_code, upload(world, collection)) == (200, 200)


def acts(world: World) -> list[tuple[str, str]]:
    found = [audit.parse(row) for row in world.service.store.audit()]
    return [
        (entry.act, entry.details["collection"])
        for entry in found
        if entry.act.startswith("collection-")
    ]


def test_an_archived_collection_is_in_no_list_and_goes_on(
    world: World, theme: Collection, mistake: Collection
) -> None:
    before = world.get("/v1/collections/theme/manifest", None).data
    answer = world.send("POST", "/v1/collections/theme/archive")
    assert answer.get_json() == {"collection": theme.id, "archived": True}
    assert listed(world) == {"mistake": False}
    assert listed(world, "?archived=true") == {"mistake": False, "theme": True}
    for role in (None, "viewer"):
        assert theme.id not in world.page("/", role).text
        assert theme.id in world.page("/?archived=true", role).text
    assert theme.id not in world.page("/access", "admin").text
    assert upload(world, theme) == 200
    assert world.get("/v1/collections/theme/manifest", None).data == before
    assert world.get("/v1/collections/theme/estimates").status_code in (200, 409)
    assert world.get(f"/v1/collections/{theme.id}/epochs").status_code == 200
    reopen(world)
    assert listed(world) == {"mistake": False}
    world.send("POST", f"/v1/collections/{theme.id}/unarchive")
    assert listed(world) == {"mistake": False, "theme": False}
    assert acts(world) == [("collection-archived", theme.id), ("collection-unarchived", theme.id)]


def test_a_new_version_of_an_archived_collection_stays_archived(
    world: World, theme: Collection
) -> None:
    world.send("POST", "/v1/collections/theme/archive")
    newer = authored("theme", previous=theme.manifest, expires="2027-07-01")
    assert world.register(newer).archived
    assert listed(world) == {}


def test_a_collection_that_has_not_begun_is_deleted_and_its_log_entry_stays(
    world: World, theme: Collection, mistake: Collection
) -> None:
    log = world.get("/v1/log", None).data
    assert delete(world, mistake) == (204, "")
    never = world.get("/v1/collections/never/manifest", None)
    for path in (mistake.id, "mistake"):
        answer = world.get(f"/v1/collections/{path}/manifest", None)
        assert answer.status_code == never.status_code == 404
        assert answer.get_json()["type"] == never.get_json()["type"]
    assert upload(world, mistake) == 404
    assert listed(world, "?archived=true") == {"theme": False}
    assert world.get("/v1/log", None).data == log
    assert acts(world) == [("collection-deleted", mistake.id)]
    assert uploads_go_on(world, theme)
    for _ in range(2):
        world.service.tick()
        assert uploads_go_on(world, theme)
        reopen(world)
    assert delete(world, mistake)[0] == 404


def test_the_log_is_still_verified(world: World, mistake: Collection) -> None:
    delete(world, mistake)
    settings = world.service.settings
    chain = log_audit.read_database(settings)
    found = list(log_audit.of_database(settings, chain, world.service.keys.trust))
    assert {check.level for check in found} == {"ok"}
    assert "but 1 manifests of deleted collections" in found[-1].message


def test_the_same_manifest_is_registered_again_with_a_new_entry(
    world: World, mistake: Collection
) -> None:
    delete(world, mistake)
    size = world.service.store.log_head()[0]
    again = world.register(mistake.manifest)
    assert (again.id, again.state, again.archived) == (mistake.id, "open", False)
    assert world.service.store.log_head()[0] == size + 1
    reopen(world)
    world.clock.now = epoch_start(again.first_epoch, again.manifest.epoch_seconds) + 1
    report = world.report(again, BITS, epoch=again.first_epoch)
    assert world.upload(again, report).status_code == 200


def test_devices_that_have_the_deleted_manifest_never_meet_another_in_its_place(
    world: World, mistake: Collection
) -> None:
    """They seal to its digest: their reports could not be opened, and would be lost."""
    delete(world, mistake)
    other = authored("mistake", valid_from=LATER, expires="2027-07-01")
    assert other.collection == mistake.id
    with pytest.raises(Problem, match=r"was another manifest .* change it in version 2"):
        world.register(other)
    world.register(mistake.manifest)
    newer = authored("mistake", valid_from=LATER, expires="2027-07-01", previous=mistake.manifest)
    assert world.register(newer).manifest.version == 2


def test_one_that_was_registered_again_and_then_lost_is_lost(tmp_path: Path) -> None:
    """Each deletion takes the id out of heads.json once, not what was registered later."""
    with opened(tmp_path) as world:
        mistake = world.register(authored("mistake", valid_from=LATER))
        delete(world, mistake)
        settings = world.service.settings
        world.service.close()
        older = shutil.copy(settings.database, tmp_path / "older.db")
        world.service = Service.open(settings, clock=world.clock)
        world.register(mistake.manifest)
        world.service.close()
        shutil.copy(older, settings.database)
        world.service = Service.open(settings, clock=world.clock)
        world.app = create_app(world.service)
        assert world.service.reconcile(audit=None).lost == (mistake.id,)
        for _ in range(2):
            world.service.tick()
            path = f"/v1/collections/{mistake.id}/manifest"
            assert world.get(path, None).status_code == 503


def test_a_name_means_again_what_it_meant_before(world: World, theme: Collection) -> None:
    later = authored("theme", labels=("other",), valid_from=LATER)
    world.service.register(world.signed(later), replace=True, audit=None)
    assert world.service.registry.get("theme").id == later.collection != theme.id
    delete(world, world.service.registry.get("theme"))
    assert world.service.registry.get("theme").id == theme.id
    reopen(world)
    assert world.service.registry.get("theme").id == theme.id


@pytest.mark.parametrize("seconds", [-1, 0])
def test_it_is_deleted_until_the_second_its_first_epoch_begins(
    world: World, mistake: Collection, seconds: int
) -> None:
    begins = epoch_start(mistake.first_epoch, mistake.manifest.epoch_seconds)
    world.clock.now = begins + seconds
    status, said = delete(world, mistake)
    assert status == (204 if seconds < 0 else 409)
    assert ("collections close" in said and "collections archive" in said) == (seconds >= 0)
    assert ("mistake" in listed(world)) == (seconds >= 0)
    assert bool(acts(world)) == (seconds < 0)


def test_one_with_a_report_is_not_deleted_however_early(world: World, mistake: Collection) -> None:
    world.count(mistake, [BITS], epoch=mistake.first_epoch)
    assert delete(world, mistake)[0] == 409
    assert "mistake" in listed(world)


def test_a_kill_between_database_and_heads_file_loses_nothing(
    world: World, theme: Collection, mistake: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(HEADS, killed)
        with pytest.raises(Killed):
            world.service.delete(mistake.id, audit=None)
    data = world.service.settings.data
    left = heads_file.read(data)
    assert left is not None
    assert mistake.id in left.collections  # the kill came before the second write
    reopen(world)
    assert world.get(f"/v1/collections/{mistake.id}/manifest", None).status_code == 404
    world.service.registry.require_nothing_lost()
    assert uploads_go_on(world, theme)
    after = heads_file.read(data)
    assert after is not None
    assert after.collections == (theme.id,)


def test_a_kill_before_the_database_committed_deletes_nothing(
    world: World, theme: Collection, mistake: Collection
) -> None:
    def killed() -> float:
        raise Killed

    with pytest.raises(Killed):
        world.service.registry.delete(mistake.id, clock=killed, audit=None)
    reopen(world)
    assert listed(world) == {"mistake": False, "theme": False}
    assert uploads_go_on(world, theme)


def test_other_processes_take_up_what_one_has_archived_and_deleted(tmp_path: Path) -> None:
    with pair(tmp_path) as (first, second):
        mistake = authored("mistake", valid_from=LATER)
        first.service.register(first.signed(mistake), audit=None)
        second.service.tick()
        found = second.service.registry
        first.service.registry.archive(first.manifest.collection, archived=True, audit=None)
        first.service.delete(mistake.collection, audit=None)
        assert found.lookup(mistake.collection) is not None
        second.service.tick()
        assert found.lookup(mistake.collection) is None
        with pytest.raises(UnknownCollection):
            found.get("mistake")
        assert found.get("settings").archived
        assert second.upload(second.report()) == []
        first.service.registry.archive(first.manifest.collection, archived=False, audit=None)
        first.service.register(first.signed(mistake), audit=None)
        second.service.tick()
        assert not found.get("settings").archived
        assert found.get("mistake").versions.keys() == {1}


def test_another_collection_under_the_same_id_is_not_mixed_with_the_deleted_one(
    tmp_path: Path,
) -> None:
    """Deleted and registered again between two looks of another process."""
    with pair(tmp_path) as (first, second):
        mistake = authored("mistake", valid_from=LATER)
        newer = authored("mistake", valid_from=LATER, expires="2027-07-01", previous=mistake)
        for manifest in (mistake, newer):
            first.service.register(first.signed(manifest), audit=None)
        second.service.tick()
        assert second.service.registry.get("mistake").manifest.version == 2
        first.service.delete(mistake.collection, audit=None)
        first.service.register(first.signed(mistake), audit=None)
        second.service.tick()
        assert second.service.registry.get("mistake").versions.keys() == {1}


def test_the_commands_archive_delete_and_ask(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.done("init")
    later = SETTINGS_TOML.replace("2026-01-01", "2098-01-01").replace('"settings"', '"mistake"')
    for path in (deniable.write("settings.toml"), deniable.write("mistake.toml", later)):
        deniable.done("collections", "apply", path, "--key", deniable.key)
    assert "is archived" in deniable.done("collections", "archive", "settings")
    assert "settings-" not in deniable.done("collections", "list")
    assert "settings-" in deniable.done("collections", "list", "--archived")
    assert "on the lists again" in deniable.done("collections", "archive", "settings", "--undo")
    assert "settings-" in deniable.done("collections", "list")
    assert "collections archive" in deniable.refused("collections", "delete", "settings", "--yes")
    assert "add --yes" in deniable.refused("collections", "delete", "mistake")
    assert "mistake is deleted" in deniable.done("collections", "delete", "mistake", "--yes")
    assert "mistake" not in deniable.done("collections", "list", "--archived")
    assert "deleted collections" in deniable.done("doctor", "verify-log")
