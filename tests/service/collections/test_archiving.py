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
from support.tiers import grid

LATER = "2027-01-20"
HEADS = "deniable_aggregator.releases.rollback_guard.guard.heads_file.write"


class Killed(BaseException):
    """In place of a kill -9."""


@pytest.fixture(params=grid(KINDS, by_default=["sqlite"]))
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path, kind=request.param) as made:
        yield made
        made.running.close()


@pytest.fixture
def collection(service: World) -> Collection:
    """One that people answer."""
    return service.register(authored("theme"))


@pytest.fixture
def mistake(service: World, collection: Collection) -> Collection:
    """One that begins later."""
    return service.register(authored("mistake", valid_from=LATER))


def reopen(service: World) -> None:
    """Start again, as after a kill."""
    settings = service.running.settings
    service.running.close()
    service.running = Service.open(settings, clock=service.clock)
    service.app = create_app(service.running)


def listed(service: World, query: str = "") -> dict[str, bool]:
    rows = service.get(f"/v1/collections{query}", None).get_json()["collections"]
    return {row["name"]: row["archived"] for row in rows}


def delete(service: World, collection: Collection) -> tuple[int, str]:
    answer = service.send("DELETE", f"/v1/collections/{collection.id}")
    return answer.status_code, answer.get_json()["detail"] if answer.data else ""


def upload(service: World, collection: Collection) -> int:
    return service.upload(collection, service.report(collection, BITS)).status_code


def uploads_go_on(service: World, collection: Collection) -> bool:
    return (service.get("/readyz", None).status_code, upload(service, collection)) == (200, 200)


def acts(service: World) -> list[tuple[str, str]]:
    found = [audit.parse(row) for row in service.running.store.audit()]
    return [
        (entry.act, entry.details["collection"])
        for entry in found
        if entry.act.startswith("collection-")
    ]


@pytest.mark.slow
def test_an_archived_collection_is_in_no_list_and_goes_on(
    service: World, collection: Collection, mistake: Collection
) -> None:
    before = service.get("/v1/collections/theme/manifest", None).data
    answer = service.send("POST", "/v1/collections/theme/archive")
    assert answer.get_json() == {"collection": collection.id, "archived": True}
    assert listed(service) == {"mistake": False}
    assert listed(service, "?archived=true") == {"mistake": False, "theme": True}
    for role in (None, "viewer"):
        assert collection.id not in service.page("/", role).text
        assert collection.id in service.page("/?state=archived", role).text
    assert collection.id not in service.page("/access", "admin").text
    assert upload(service, collection) == 200
    assert service.get("/v1/collections/theme/manifest", None).data == before
    assert service.get("/v1/collections/theme/estimates").status_code in (200, 409)
    assert service.get(f"/v1/collections/{collection.id}/epochs").status_code == 200
    reopen(service)
    assert listed(service) == {"mistake": False}
    service.send("POST", f"/v1/collections/{collection.id}/unarchive")
    assert listed(service) == {"mistake": False, "theme": False}
    assert acts(service) == [
        ("collection-archived", collection.id),
        ("collection-unarchived", collection.id),
    ]


def test_a_new_version_of_an_archived_collection_stays_archived(
    service: World, collection: Collection
) -> None:
    service.send("POST", "/v1/collections/theme/archive")
    newer = authored("theme", previous=collection.manifest, expires="2027-07-01")
    assert service.register(newer).archived
    assert listed(service) == {}


@pytest.mark.slow
def test_a_collection_before_its_start_is_deleted_but_its_log_entry_stays(
    service: World, collection: Collection, mistake: Collection
) -> None:
    log = service.get("/v1/log", None).data
    assert delete(service, mistake) == (204, "")
    never = service.get("/v1/collections/never/manifest", None)
    for path in (mistake.id, "mistake"):
        answer = service.get(f"/v1/collections/{path}/manifest", None)
        assert answer.status_code == never.status_code == 404
        assert answer.get_json()["type"] == never.get_json()["type"]
    assert upload(service, mistake) == 404
    assert listed(service, "?archived=true") == {"theme": False}
    assert service.get("/v1/log", None).data == log
    assert acts(service) == [("collection-deleted", mistake.id)]
    assert uploads_go_on(service, collection)
    for _ in range(2):
        service.running.tick()
        assert uploads_go_on(service, collection)
        reopen(service)
    assert delete(service, mistake)[0] == 404


def test_the_log_is_still_verified(service: World, mistake: Collection) -> None:
    delete(service, mistake)
    settings = service.running.settings
    chain = log_audit.read_database(settings)
    found = list(log_audit.of_database(settings, chain, service.running.keys.trust))
    assert {check.level for check in found} == {"ok"}
    assert "except 1 manifests of deleted collections" in found[-1].message


def test_the_same_manifest_is_registered_again_with_a_new_entry(
    service: World, mistake: Collection
) -> None:
    delete(service, mistake)
    size = service.running.store.log_head()[0]
    again = service.register(mistake.manifest)
    assert (again.id, again.state, again.archived) == (mistake.id, "open", False)
    assert service.running.store.log_head()[0] == size + 1
    reopen(service)
    service.clock.now = epoch_start(again.first_epoch, again.manifest.epoch_seconds) + 1
    report = service.report(again, BITS, epoch=again.first_epoch)
    assert service.upload(again, report).status_code == 200


def test_no_other_manifest_takes_the_place_of_a_deleted_one(
    service: World, mistake: Collection
) -> None:
    """They seal to its digest: their reports could not be opened, and would be lost."""
    delete(service, mistake)
    other = authored("mistake", valid_from=LATER, expires="2027-07-01")
    assert other.collection == mistake.id
    with pytest.raises(Problem, match=r"was another manifest .* change it in version 2"):
        service.register(other)
    service.register(mistake.manifest)
    newer = authored("mistake", valid_from=LATER, expires="2027-07-01", previous=mistake.manifest)
    assert service.register(newer).manifest.version == 2


def test_one_that_was_registered_again_and_then_lost_is_lost(tmp_path: Path) -> None:
    """Each deletion takes the id out of heads.json once, not what was registered later."""
    with opened(tmp_path) as service:
        mistake = service.register(authored("mistake", valid_from=LATER))
        delete(service, mistake)
        settings = service.running.settings
        service.running.close()
        older = shutil.copy(settings.database, tmp_path / "older.db")
        service.running = Service.open(settings, clock=service.clock)
        service.register(mistake.manifest)
        service.running.close()
        shutil.copy(older, settings.database)
        service.running = Service.open(settings, clock=service.clock)
        service.app = create_app(service.running)
        assert service.running.reconcile(audit=None).lost == (mistake.id,)
        for _ in range(2):
            service.running.tick()
            path = f"/v1/collections/{mistake.id}/manifest"
            assert service.get(path, None).status_code == 503


def test_a_name_means_again_what_it_meant_before(service: World, collection: Collection) -> None:
    later = authored("theme", labels=("other",), valid_from=LATER)
    service.running.register(service.signed(later), replace=True, audit=None)
    assert service.running.registry.get("theme").id == later.collection != collection.id
    delete(service, service.running.registry.get("theme"))
    assert service.running.registry.get("theme").id == collection.id
    reopen(service)
    assert service.running.registry.get("theme").id == collection.id


@pytest.mark.parametrize("seconds", [-1, 0])
def test_it_is_deleted_until_the_second_its_first_epoch_begins(
    service: World, mistake: Collection, seconds: int
) -> None:
    begins = epoch_start(mistake.first_epoch, mistake.manifest.epoch_seconds)
    service.clock.now = begins + seconds
    status, said = delete(service, mistake)
    assert status == (204 if seconds < 0 else 409)
    assert ("collections close" in said and "collections archive" in said) == (seconds >= 0)
    assert ("mistake" in listed(service)) == (seconds >= 0)
    assert bool(acts(service)) == (seconds < 0)


def test_one_with_a_report_is_not_deleted_however_early(
    service: World, mistake: Collection
) -> None:
    service.count(mistake, [BITS], epoch=mistake.first_epoch)
    assert delete(service, mistake)[0] == 409
    assert "mistake" in listed(service)


def test_a_kill_between_database_and_heads_file_loses_nothing(
    service: World, collection: Collection, mistake: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(HEADS, killed)
        with pytest.raises(Killed):
            service.running.delete(mistake.id, audit=None)
    data = service.running.settings.data
    left = heads_file.read(data)
    assert left is not None
    assert mistake.id in left.collections  # the kill came before the second write
    reopen(service)
    assert service.get(f"/v1/collections/{mistake.id}/manifest", None).status_code == 404
    service.running.registry.require_nothing_lost()
    assert uploads_go_on(service, collection)
    after = heads_file.read(data)
    assert after is not None
    assert after.collections == (collection.id,)


def test_a_kill_before_the_database_committed_deletes_nothing(
    service: World, collection: Collection, mistake: Collection
) -> None:
    def killed() -> float:
        raise Killed

    with pytest.raises(Killed):
        service.running.registry.delete(mistake.id, clock=killed, audit=None)
    reopen(service)
    assert listed(service) == {"mistake": False, "theme": False}
    assert uploads_go_on(service, collection)


@pytest.mark.slow
def test_other_processes_take_up_what_one_has_archived_and_deleted(tmp_path: Path) -> None:
    with pair(tmp_path) as (first, second):
        mistake = authored("mistake", valid_from=LATER)
        first.running.register(first.signed(mistake), audit=None)
        second.running.tick()
        found = second.running.registry
        first.running.registry.archive(first.manifest.collection, archived=True, audit=None)
        first.running.delete(mistake.collection, audit=None)
        assert found.lookup(mistake.collection) is not None
        second.running.tick()
        assert found.lookup(mistake.collection) is None
        with pytest.raises(UnknownCollection):
            found.get("mistake")
        assert found.get("settings").archived
        assert second.upload(second.report()) == []
        first.running.registry.archive(first.manifest.collection, archived=False, audit=None)
        first.running.register(first.signed(mistake), audit=None)
        second.running.tick()
        assert not found.get("settings").archived
        assert found.get("mistake").versions.keys() == {1}


@pytest.mark.slow
def test_a_new_collection_is_not_mixed_with_a_deleted_one_of_its_id(
    tmp_path: Path,
) -> None:
    """Deleted and registered again between two looks of another process."""
    with pair(tmp_path) as (first, second):
        mistake = authored("mistake", valid_from=LATER)
        newer = authored("mistake", valid_from=LATER, expires="2027-07-01", previous=mistake)
        for manifest in (mistake, newer):
            first.running.register(first.signed(manifest), audit=None)
        second.running.tick()
        assert second.running.registry.get("mistake").manifest.version == 2
        first.running.delete(mistake.collection, audit=None)
        first.running.register(first.signed(mistake), audit=None)
        second.running.tick()
        assert second.running.registry.get("mistake").versions.keys() == {1}


@pytest.mark.slow
def test_the_commands_archive_delete_and_ask(tmp_path: Path) -> None:
    deniable = Deniable(tmp_path)
    deniable.prepare()
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
