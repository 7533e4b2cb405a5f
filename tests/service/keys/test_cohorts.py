"""Cohorts: each report is always in the same of 64 groups, and outsiders cannot see which."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally
from deniable_aggregator.store.rows import KeyedTally
from deniable_shared.manifest.model import Manifest
from deniable_shared.randomness.coins import Coins
from support.builders import service_world
from support.builders.service_world import TODAY, World

COLLECTION = "settings-4kqz0m"
IDS = [number.to_bytes(16) for number in range(6_400)]


def cohorts(secret: bytes = bytes(32), collection: str = COLLECTION) -> list[int]:
    return [Cohorts(secret).of(collection, report_id, 64) for report_id in IDS]


def register(bare_service: World, number: int) -> Manifest:
    text = f"cohorts = {number}\n" + service_world.TOML.replace('"settings"', f'"in-{number}"')
    manifest = service_world.authored(text)
    bare_service.running.registry.apply(bare_service.signed(manifest), audit=None)
    bare_service.manifest = manifest
    return manifest


def cells(bare_service: World) -> list[KeyedTally]:
    return bare_service.running.store.tallies(bare_service.manifest.collection, TODAY, TODAY)


@pytest.mark.slow
def test_an_id_is_always_in_the_same_of_64_groups() -> None:
    assert cohorts() == cohorts()
    assert set(cohorts()) == set(range(64))


@pytest.mark.slow
def test_another_secret_or_collection_groups_otherwise() -> None:
    assert cohorts() != cohorts(secret=b"\x01" * 32)
    assert cohorts() != cohorts(collection="settings-5kqz0m")


def test_one_cohort_is_number_0() -> None:
    assert {Cohorts(bytes(32)).of(COLLECTION, report_id, 1) for report_id in IDS} == {0}


@pytest.mark.statistical
def test_ids_spread_evenly() -> None:
    # χ² with 63 degrees of freedom is above 142 with probability 2·10⁻⁸.
    coins = Coins.system()
    groups = Cohorts(coins.bytes(32))
    found = Counter(groups.of(COLLECTION, coins.bytes(16), 64) for _ in range(6_400))
    assert sum((found[group] - 100) ** 2 / 100 for group in range(64)) < 142


def test_the_secret_is_a_file_made_once_and_never_in_the_database(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    path = settings.data / "keys" / "cohorts.key"
    before = path.read_text()
    with service_world.opened(tmp_path, settings) as bare_service:
        register(bare_service, 64)
        bare_service.upload(bare_service.report())
    assert path.read_text() == before
    assert path.stat().st_mode & 0o077 == 0
    assert before.strip().partition(":")[2].encode() not in settings.database.read_bytes()


def test_a_directory_of_an_earlier_version_gets_a_secret(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    (settings.data / "keys" / "cohorts.key").unlink()
    with service_world.opened(tmp_path, settings):
        assert (settings.data / "keys" / "cohorts.key").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 64])
def test_reports_are_tallied_by_cohort_and_read_together(bare_service: World, number: int) -> None:
    register(bare_service, number)
    payloads = [bytes([bits << 5]) for bits in range(8)] * 8
    for payload in payloads:
        assert bare_service.upload(bare_service.report(payload=payload)) == []
    found = cells(bare_service)
    assert {cell.key.cohort for cell in found} <= set(range(number))
    assert (len(found) > 1) == (number > 1)
    collection = bare_service.running.registry.get(bare_service.manifest.collection)
    reading = pooled_tally(bare_service.running.store, collection, EpochRange())
    assert (reading.n, reading.tally.tolist()) == (64, [32, 32, 32])


def test_a_report_sent_twice_is_in_one_group_once(bare_service: World) -> None:
    register(bare_service, 64)
    report = bare_service.report()
    for _ in range(3):
        assert bare_service.upload(report) == []
    assert [cell.n for cell in cells(bare_service)] == [1]
