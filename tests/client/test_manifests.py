"""Manifests: who may give one, what it may change, and what a hostile one gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from deniable_client import Client, ConfigurationError, Outcome, RefusedError, Reply
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import canonical_json
from support.builders.client_world import (
    CEILING,
    DAY,
    OTHER,
    SETTINGS,
    START,
    URL,
    Device,
    MakeDevice,
    Operator,
    manifest,
    successor,
    toml,
)
from support.builders.manifest_text import manifest_of


def build(operator: Operator, envelope: bytes | str | Path) -> Client:
    """A client that ships this."""
    return Client(
        URL,
        trust=operator.trust,
        manifests=[envelope],
        state=":memory:",
        ceiling=CEILING,
        strict=True,
    )


def signed(operator: Operator, changes: Mapping[str, object]) -> bytes:
    """The settings manifest with changes no honest tool would make, properly signed."""
    document = json.loads(manifest().body)
    for path, value in changes.items():
        *parents, last = path.split(".")
        inner = document
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    return dsse.sign(canonical_json(document), payload_type=MANIFEST_TYPE, seed=operator.seed)


HOSTILE: Mapping[str, tuple[Mapping[str, object], str]] = {
    "larger ε": ({"epsilon.report": "2", "epsilon.lifetime": "2"}, "threshold"),
    "ε as a power": ({"epsilon.report": "1e5000000"}, "epsilon.report"),
    "ε as a float": ({"epsilon.report": 1}, "epsilon.report"),
    "wrong T": ({"mechanism.threshold": "0xffffffffffffffff"}, "threshold"),
    "other domain": ({"domain": {"type": "bits", "labels": ["dark_mode"]}}, "threshold"),
    "memoized": ({"repeat": "memoized"}, "threshold belongs to repeat"),
    "sampling": ({"sampling": "0.5"}, "collection must be"),
    "always": ({"presence": "always"}, "default must be an answer"),
    "other id": ({"collection": "settings-000000"}, "collection must be"),
    "unknown field": ({"surprise": 1}, "surprise"),
    "other server": (
        {"ingest": ["https://elsewhere.example.org"]},
        "the origin this app was built",
    ),
    "second server": ({"ingest": [URL, "https://elsewhere.example.org"]}, "the origin this app"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_is_refused_with_the_reason(operator: Operator, name: str) -> None:
    changes, reason = HOSTILE[name]
    with pytest.raises(ConfigurationError, match=reason):
        build(operator, signed(operator, changes))


def test_a_manifest_by_another_key_is_refused(operator: Operator) -> None:
    with pytest.raises(ConfigurationError, match="given as bytes"):
        build(operator, Operator().sign(manifest()))


def test_a_manifest_with_one_byte_changed_is_refused(operator: Operator) -> None:
    envelope = bytearray(operator.sign(manifest()))
    envelope[40] ^= 1
    with pytest.raises(ConfigurationError):
        build(operator, bytes(envelope))


@pytest.mark.parametrize("content", [b"", b"{}", b"name = 'settings'", bytes(1 << 21)])
def test_what_is_no_envelope_is_refused_by_its_file_name(
    operator: Operator, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "settings.manifest"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"settings\.manifest"):
        build(operator, file)


@pytest.mark.parametrize("given", ["nowhere.manifest", "{}", 5, None])
def test_what_cannot_be_read_is_refused(operator: Operator, given: object) -> None:
    with pytest.raises(ConfigurationError, match="manifest"):
        build(operator, given)  # type: ignore[arg-type]  # a wrong type is the point


def test_a_single_manifest_is_not_mistaken_for_a_list(operator: Operator) -> None:
    with pytest.raises(ConfigurationError, match="must be a list"):
        Client(
            URL,
            trust=operator.trust,
            manifests=operator.sign(manifest()),  # type: ignore[arg-type]  # a wrong type is the point
            state=":memory:",
            ceiling=CEILING,
            strict=True,
        )


def test_a_manifest_is_read_from_a_path_or_its_text(operator: Operator, tmp_path: Path) -> None:
    file = tmp_path / "settings.manifest"
    file.write_bytes(operator.sign(manifest()))
    for given in (file, str(file), file.read_bytes()):
        with build(operator, given) as client:
            assert list(client.budget().collections) == ["settings"]


def fetched(device: Device) -> list[str]:
    """What refresh() could not do, in words."""
    client = device.open()
    problems = client.refresh(names=["settings"]).problems
    client.close()
    return [str(problem) for problem in problems]


def test_a_manifest_the_app_did_not_ship_is_fetched_and_remembered(
    make_device: MakeDevice,
) -> None:
    device = make_device(manifest("shipped"))
    device.aggregator.add(manifest("fetched"))
    client = device.granted()
    assert client.record("fetched", SETTINGS) is Outcome.UNKNOWN_COLLECTION
    assert client.refresh().collections == ("fetched", "shipped")
    assert client.record("fetched", SETTINGS) is Outcome.QUEUED
    client.close()
    assert device.open().record("fetched", SETTINGS) is Outcome.ALREADY_ANSWERED


def test_a_name_nobody_has_is_told(device: Device) -> None:
    client = device.granted()
    result = client.refresh(names=["nothing", "Not/A Name"])
    assert result.collections == ("settings",)
    assert len(result.problems) == 2


def test_a_list_of_names_is_not_mistaken_for_a_name(device: Device) -> None:
    with pytest.raises(ConfigurationError, match="list of names"):
        device.granted().refresh(names="settings")


def test_a_newer_version_may_lower_the_lifetime(device: Device) -> None:
    old = manifest(epsilon_lifetime='"4"')
    device.shipped = [old]
    device.aggregator.add(successor(old, epsilon_lifetime='"2"'))
    device.granted().close()
    assert fetched(device) == []
    assert device.open().budget().collections["settings"].lifetime == 2


def test_a_queued_report_keeps_the_version_it_was_recorded_under(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    new = successor(manifest(), purpose='"Which settings are on?"')
    device.aggregator.manifests["settings"] = new
    client.refresh()
    client.flush(early=True)
    (received,) = device.aggregator.received
    assert received.report.header.manifest_version == 1


def test_a_version_may_be_skipped(device: Device) -> None:
    device.granted().close()
    second = successor(manifest(), min_batch="200")
    device.aggregator.add(successor(second, min_batch="300"))
    assert fetched(device) == []


def test_an_older_version_is_a_rollback(device: Device) -> None:
    second = successor(manifest(), purpose='"Which settings are on?"')
    third = successor(second, purpose='"Which?"')
    device.shipped = [third]
    device.granted().close()
    device.aggregator.add(second)
    (reason,) = fetched(device)
    assert "rollback" in reason
    assert device.open().record("settings", SETTINGS) is Outcome.QUEUED


def test_an_app_that_ships_an_older_version_goes_on_with_the_newer(device: Device) -> None:
    second = successor(manifest(), epsilon_lifetime='"1"', min_batch="200")
    third = successor(second, min_batch="300")
    device.shipped = [third]
    device.granted().close()
    device.shipped = [second]
    device.aggregator.add(third)
    client = device.open()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert "rollback" in str(client.flush(early=True).problems[0])
    assert device.aggregator.received[0].report.header.manifest_version == 3


FORBIDDEN: Mapping[str, Mapping[str, str]] = {
    "lifetime may only be lowered": {"epsilon_lifetime": '"3"'},
    "min_batch may only be raised": {"min_batch": "1"},
    "retention_days may only be lowered": {"retention_days": "500"},
    "public may only be withdrawn": {"public": "true"},
}


@pytest.mark.parametrize("reason", FORBIDDEN)
def test_a_version_that_changes_what_it_may_not_is_refused(device: Device, reason: str) -> None:
    device.granted().close()
    document = json.loads(manifest_of(toml(**FORBIDDEN[reason]), ingest=[URL]).body) | {
        "version": 2,
        "previous": manifest().digest.hex(),
    }
    envelope = dsse.sign(
        canonical_json(document),
        payload_type=MANIFEST_TYPE,
        seed=device.aggregator.operator.seed,
    )
    device.transport.answer = lambda request: Reply(200, envelope, {})
    (problem,) = fetched(device)
    assert reason in problem


def test_a_second_body_of_a_known_version_is_a_fork(device: Device) -> None:
    device.granted().close()
    device.aggregator.add(manifest(purpose='"Something else"'))
    (problem,) = fetched(device)
    assert "two different bodies" in problem
    assert device.open().record("settings", SETTINGS) is Outcome.LOG_FORKED


def test_a_shipped_second_body_is_a_fork_too(device: Device) -> None:
    device.granted().close()
    device.shipped = [manifest(purpose='"Something else"')]
    assert device.open().record("settings", SETTINGS) is Outcome.LOG_FORKED


def test_a_service_with_another_key_is_no_fork(device: Device) -> None:
    """The same question on a test service and then on the real one, with one state file."""
    device.granted().close()
    first, device.aggregator.operator = device.aggregator.operator, Operator()
    questions, device.shipped = device.shipped, [manifest(purpose='"Something else"')]
    with device.open() as client:
        assert client.record("settings", SETTINGS) is Outcome.UNKNOWN_COLLECTION
        assert client.status().silences[0].reason == "no-questions"
        [problem] = client.health().problems[:1]
    assert "from a service with another key: give each service a state of its own" in problem
    device.aggregator.operator, device.shipped = first, questions
    assert device.open().record("settings", SETTINGS) is Outcome.QUEUED


def test_an_older_version_with_another_key_is_no_rollback(device: Device) -> None:
    device.shipped = [manifest(), successor(manifest())]
    device.granted().close()
    device.aggregator.operator = Operator()
    device.shipped = [manifest(purpose='"Something else"')]
    with device.open() as client:
        client.record("settings", SETTINGS)
        assert "from a service with another key" in str(client.health().problems)


def test_another_collection_than_the_one_asked_for_is_refused(device: Device) -> None:
    device.aggregator.manifests["wanted"] = manifest()
    result = device.granted().refresh(names=["wanted"])
    assert isinstance(result.problems[0], RefusedError)


def test_a_lower_epsilon_as_a_second_draw_finds_the_budget_spent(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.add(manifest(epsilon='"0.1"', epsilon_lifetime='"1"'))
    client.refresh()
    cheaper = manifest(epsilon='"0.1"', epsilon_lifetime='"1"').collection
    assert client.record(cheaper, OTHER) is Outcome.BUDGET_EXHAUSTED


def test_what_one_trust_verified_is_not_believed_under_another(device: Device) -> None:
    device.granted().close()
    device.shipped = []
    device.aggregator.operator = Operator()
    assert device.open().record("settings", SETTINGS) is Outcome.UNKNOWN_COLLECTION


def test_an_envelope_is_verified_again_under_another_trust(
    device: Device,
) -> None:
    device.granted().close()
    envelope = device.aggregator.operator.sign(manifest())
    with pytest.raises(ConfigurationError, match="sign"):
        Client(
            URL,
            trust=Operator().trust,
            manifests=[envelope],
            state=device.path,
            ceiling=CEILING,
            strict=True,
        )


def test_what_was_verified_is_believed_on_the_next_start_without_the_file(device: Device) -> None:
    device.granted().close()
    device.shipped = []
    assert device.open().record("settings", SETTINGS) is Outcome.QUEUED


def test_expiry_moved_by_a_newer_version_reopens_the_collection(device: Device) -> None:
    old = manifest(expires="2027-02-01")
    device.shipped = [old]
    client = device.granted()
    device.clock.now = START + 60 * DAY
    assert client.record("settings", SETTINGS) is Outcome.EXPIRED
    device.aggregator.add(successor(old, expires="2027-12-01"))
    client.refresh()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
