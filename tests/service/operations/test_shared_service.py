"""Several processes over one directory and one PostgreSQL database share what they know and do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.access import users
from deniable_aggregator.collections.registry import UnknownCollection
from deniable_aggregator.store.rows import EpochRow
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import LockedError
from deniable_shared.wire.problems import ReportError
from support.builders.manifests import next_version
from support.builders.service_world import DAY, TODAY, World
from support.builders.two_services import pair
from support.doubles.browser import PASSWORD

pytestmark = pytest.mark.slow

GRACE_ENDS = (TODAY + 3) * DAY

Pair = tuple[World, World]


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Pair]:
    with pair(tmp_path) as found:
        yield found


def key_file(world: World, key_id: int) -> Path:
    return world.running.settings.data / "keys" / f"report-{key_id}.key"


def states(world: World) -> dict[int, str]:
    return {key.id: key.state for key in world.key_list().keys}


def test_a_collection_registered_by_one_is_known_to_the_other_at_once(both: Pair) -> None:
    first, second = both
    assert second.upload(first.report()) == []
    assert first.n() == second.n() == 1
    assert second.running.registry.get("settings").id == first.manifest.collection
    with pytest.raises(UnknownCollection):
        second.running.registry.get("nothing")


def test_the_same_report_to_both_is_counted_once(both: Pair) -> None:
    first, second = both
    report = first.report()
    assert first.upload(report) == second.upload(report) == []
    assert first.n() == 1


def test_a_version_registered_by_one_is_counted_by_the_other_at_once(both: Pair) -> None:
    first, second = both
    second.running.registry.refresh()
    newer = next_version(first.manifest, {"purpose": "Which of them now?"})
    first.running.registry.apply(first.signed(newer), audit=None)
    report = first.report(first.header(manifest_version=2), manifest=newer)
    assert second.upload(report) == []


def test_the_same_manifest_at_both_is_registered_once(both: Pair) -> None:
    first, second = both
    assert not second.running.registry.apply(first.signed(first.manifest), audit=None).created


def test_a_collection_closed_by_one_is_closed_for_the_other_after_its_tick(both: Pair) -> None:
    first, second = both
    second.running.registry.refresh()
    first.running.registry.close(first.manifest.collection, audit=None)
    second.running.tick()
    assert second.running.registry.get("settings").state == "closed"


def test_an_epoch_closed_by_one_is_refused_by_the_other_at_once(both: Pair) -> None:
    first, second = both
    report = second.report()
    first.running.store.close_epoch(first.manifest.collection, TODAY, 0, audit=None)
    assert second.upload(report) == [(report.header.report_id, ReportError.EPOCH_CLOSED)]


def test_one_keeps_house_and_the_other_when_it_is_gone(both: Pair) -> None:
    first, second = both
    first.upload(first.report())
    first.running.tick()
    first.clock.now = GRACE_ENDS + 1
    second.running.tick()
    found = second.running.store.epochs
    assert found(first.manifest.collection) == [EpochRow(TODAY, 1, None)]
    first.running.close()
    second.running.tick()
    assert found(first.manifest.collection) == [EpochRow(TODAY, 1, GRACE_ENDS + 1)]


def test_rejections_of_both_are_added_up(both: Pair) -> None:
    first, _ = both
    for world in both:
        world.upload(first.report(payload=b"\xff"))
        world.running.tick()
    assert first.running.store.rejections(first.manifest.collection) == {"invalid-message": 2}


def test_a_key_made_by_one_opens_at_the_other_after_its_tick(both: Pair) -> None:
    first, second = both
    first.running.keys.rotate(at_once=True, audit=None)
    second.running.tick()
    assert states(first) == states(second) == {1: "expired", 2: "active"}
    report = first.report(first.header(key_id=2))
    assert second.upload(report) == []


def test_both_go_through_a_rotation_without_signing_each_others_keys_away(both: Pair) -> None:
    first, second = both
    first.running.keys.rotate(audit=None)
    for _ in range(6):
        for world in both:
            world.running.tick()
        first.clock.now += DAY
    assert states(first) == states(second) == {2: "active"}
    assert not key_file(first, 1).exists()


def test_a_key_whose_file_is_not_here_stays_listed(
    both: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = both
    first.running.keys.rotate(audit=None)
    moved = key_file(first, 2).rename(key_file(first, 2).with_suffix(".elsewhere"))
    first.clock.now += 2 * DAY
    second.running.tick()
    assert states(second)[2] == "active"
    assert "report-2.key is not here" in caplog.text
    moved.rename(key_file(first, 2))
    second.running.tick()
    assert second.running.keys.opener(2) is not None


def test_the_directory_is_open_to_others_that_share_it_and_to_nobody_else(both: Pair) -> None:
    data = both[0].running.settings.data
    DirectoryLock.acquire(data, shared=True).release()
    with pytest.raises(LockedError):
        DirectoryLock.acquire(data)


def test_a_token_revoked_by_one_is_refused_by_the_other_at_once(both: Pair) -> None:
    for one, other in (both, both[::-1]):
        token_id, secret = one.running.tokens.create("admin", "short", audit=None)
        seen = [world.running.tokens.authenticate(f"Bearer {secret}") for world in both]
        assert [token is not None and token.id for token in seen] == [token_id] * 2
        assert one.running.tokens.revoke(token_id, audit=None)
        assert other.running.tokens.authenticate(f"Bearer {secret}") is None
        assert one.running.tokens.authenticate(f"Bearer {secret}") is None


def test_a_session_ended_by_one_is_over_for_the_other_at_once(both: Pair) -> None:
    for one, other in (both, both[::-1]):
        cookie = other.running.sessions.use_link(
            one.running.sessions.make_link("Ana", "viewer", audit=None)
        )
        found = [world.running.sessions.find(cookie) for world in both]
        assert [each is not None and each[0].name for each in found] == ["Ana"] * 2
        [row] = one.running.sessions.list()
        assert one.running.sessions.end(row.id, audit=None)
        assert [world.running.sessions.find(cookie) for world in both] == [None, None]


def test_a_link_used_at_one_is_used_up_at_the_other(both: Pair) -> None:
    first, second = both
    link = first.running.sessions.make_link("Ana", "viewer", audit=None)
    assert second.running.sessions.use_link(link) is not None
    assert first.running.sessions.use_link(link) is None


@pytest.mark.slow
def test_a_person_removed_by_one_is_out_at_the_other_at_once(
    both: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "LOG2_N", 4)
    first, second = both
    first.running.users.add("ana", "viewer", PASSWORD, audit=None)
    cookie = second.running.sessions.begin("ana", "viewer", None, via="password")
    assert first.running.sessions.find(cookie) is not None
    assert first.running.users.remove("ana", audit=None)
    assert second.running.sessions.find(cookie) is None
    assert second.running.users.recognize("ana", PASSWORD) is None
