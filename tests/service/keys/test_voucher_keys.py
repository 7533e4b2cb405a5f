"""Another key of vouchers: from which epoch on, that each epoch has one, and who learns of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.cli import main
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.ingest.extensions import VoucherVerifier
from deniable_aggregator.keys.vouchers import (
    CLOCKS_APART_SECONDS,
    VoucherKeys,
    VoucherPeriod,
    next_first,
)
from deniable_aggregator.operations.backup import sealed_keys
from deniable_aggregator.operations.backup.sealed_keys import restore_keys, seal_keys
from deniable_shared.manifest.epochs import starts_too_early
from deniable_shared.wire.voucher import decode_voucher, format_key, issue
from support.builders import api_world
from support.builders.api_world import TODAY, World, authored

SURVEY = "survey-4kqz0m"
NAMES = ("a", "a-5", "a-b", SURVEY)


@pytest.fixture
def keys(tmp_path: Path) -> VoucherKeys:
    return VoucherKeys.open(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with api_world.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def collection(service: World) -> Collection:
    return service.register(authored("survey", more='requires = ["voucher/1"]\n'))


def posted(service: World, collection: Collection, address: str) -> dict[str, Any]:
    answer = service.send("POST", f"/v1/collections/{collection.id}/{address}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_every_epoch_has_one_key_whatever_is_replaced_when(keys: VoucherKeys) -> None:
    before = [keys.of(SURVEY, epoch) for epoch in range(12)]
    assert [keys.replace(SURVEY, first) for first in (5, 9)] == [5, 9]
    after = [keys.of(SURVEY, epoch) for epoch in range(12)]
    assert after[:5] == before[:5]
    assert [after.count(after[epoch]) for epoch in (4, 5, 9)] == [5, 4, 3]
    assert [keys.period(SURVEY, epoch) for epoch in (4, 8, 9)] == [
        *(VoucherPeriod(0, 5), VoucherPeriod(5, 9), VoucherPeriod(9, None))
    ]


def test_a_key_that_is_still_to_come_is_not_replaced(keys: VoucherKeys) -> None:
    assert keys.replace(SURVEY, 7) == 7
    pending = keys.of(SURVEY, 7)
    assert [keys.replace(SURVEY, first) for first in (7, 5)] == [7, 7]
    assert keys.of(SURVEY, 7) == keys.of(SURVEY, 99) == pending


def test_keys_of_other_collections_stay_as_they_are(keys: VoucherKeys) -> None:
    before = {name: keys.of(name, 9) for name in NAMES}
    for name in NAMES:
        keys.replace(name, 5)
    after = {name: keys.of(name, 9) for name in NAMES}
    assert len({*before.values(), *after.values()}) == 2 * len(NAMES)


def test_who_replaces_at_once_gets_one_key_and_all_others_know_it(
    keys: VoucherKeys, tmp_path: Path
) -> None:
    every = [VoucherKeys.open(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda one: one.replace(SURVEY, 7), every)) == {7}
    assert len({one.of(SURVEY, 7) for one in (keys, *every, VoucherKeys.open(tmp_path))}) == 1


@given(
    now=st.floats(0, 2e9),
    seconds=st.sampled_from([3_600, 86_400, 604_800, 31 * 86_400]),
    apart=st.floats(-CLOCKS_APART_SECONDS, CLOCKS_APART_SECONDS),
)
def test_nobody_can_have_reported_in_the_first_epoch_of_another_key(
    now: float, seconds: int, apart: float
) -> None:
    """Nor on a machine whose clock is somewhat ahead or behind; and it is no epoch further off."""
    first = next_first(now, seconds)
    assert starts_too_early(first, seconds, now + apart)
    assert not starts_too_early(first - 1, seconds, now + CLOCKS_APART_SECONDS)


def test_one_person_has_one_serial_in_every_epoch(service: World, collection: Collection) -> None:
    old = posted(service, collection, "voucher-key")
    new = posted(service, collection, "voucher-key/replace")
    assert (new["first"], new["next"]) == (TODAY + 1, None)
    checks = VoucherVerifier(service.running.voucher_keys.of)
    for epoch, current in ((TODAY - 1, old), (TODAY, old), (TODAY + 1, new), (TODAY + 9, new)):
        made = {
            document["key"]: decode_voucher(
                issue(document["key"], collection=collection.id, epoch=epoch, person="1042")
            )
            for document in (old, new)
        }
        taken = [
            key
            for key, data in made.items()
            if checks.serial(data, collection=collection.id, epoch=epoch) is not None
        ]
        assert taken == [current["key"]]


def test_the_service_shows_and_issues_with_the_key_of_the_epoch(
    service: World, collection: Collection
) -> None:
    old = posted(service, collection, "voucher-key")
    new = posted(service, collection, "voucher-key/replace")
    assert posted(service, collection, "voucher-key/replace") == new
    assert posted(service, collection, "voucher-key") == old | {"next": TODAY + 1}
    assert posted(service, collection, f"voucher-key?epoch={TODAY + 1}") == new
    body = json.dumps({"person": "1042", "epoch": TODAY + 1})
    address = f"/v1/collections/{collection.id}/vouchers"
    reply = service.send("POST", address, data=body, content_type="application/json").get_json()
    expected = issue(new["key"], collection=collection.id, epoch=TODAY + 1, person="1042")
    assert reply["voucher"] == expected


def test_replacing_is_an_act_that_says_from_when_on_and_not_the_key(
    service: World, collection: Collection
) -> None:
    size, _ = service.running.store.audit_head()
    new = posted(service, collection, "voucher-key/replace")
    [row] = service.running.store.audit(size)
    entry = json.loads(row.entry)
    assert entry["act"] == "voucher-key-replaced"
    assert entry["details"] == {"collection": collection.id, "first": str(TODAY + 1)}
    assert new["key"].encode() not in row.entry


def test_the_command_prints_the_key_alone_and_says_for_which_epochs(
    service: World, collection: Collection
) -> None:
    data = ["--data", str(service.running.settings.data)]
    service.running.close()
    # the machine's own clock is not the world's
    CliRunner().invoke(main, ["doctor", "confirm-clock", *data])
    made = CliRunner().invoke(main, ["keys", "vouchers", "replace", "survey", "--yes", *data])
    result = CliRunner().invoke(main, ["keys", "vouchers", "show", "survey", *data, "--json"])
    document = json.loads(result.stdout)
    again = ["keys", "vouchers", "show", "survey", "--epoch", str(document["next"]), *data]
    assert (made.exit_code, result.exit_code) == (0, 0)
    assert CliRunner().invoke(main, again).stdout == made.stdout
    assert made.stdout != document["key"] + "\n"
    assert f"epochs from {document['next']} on" in made.stderr


@pytest.mark.slow
def test_a_backup_with_keys_has_them_all_and_only_their_owner_reads_them(
    keys: VoucherKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)  # its cost: test_backed_up_keys.py
    long = "n" * 57 + "-4kqz0m"
    for name in (SURVEY, long):
        keys.replace(name, 4_000_000_000)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    restored = tmp_path / "restored"
    restore_keys(restored, seal_keys(tmp_path, "correct horse battery"), "correct horse battery")
    opened = VoucherKeys.open(restored)
    for name in (SURVEY, long):
        for epoch in (7, 4_000_000_001):
            assert format_key(opened.of(name, epoch)) == format_key(keys.of(name, epoch))
