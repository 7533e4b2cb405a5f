"""The registry: verified first, parsed second, kept for good, the same after a restart."""

from __future__ import annotations

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.collections.registry import Collection, Registry, UnknownCollection
from deniable_aggregator.store.rows import ManifestRow
from deniable_gateway.problem import Problem
from deniable_shared.errors import DecodeError, ManifestError, SignatureError
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.canonical import canonical_json, strict_json
from support.builders.service_world import TOML, World, authored

OTHER = TOML.replace('name = "settings"', 'name = "colours"')
SAME_NAME = TOML.replace('epsilon = "1"', 'epsilon = "2"').replace("= 2027-01-01", "= 2027-01-02")


def next_version(old: Manifest, min_batch: int = 5) -> Manifest:
    return authored(TOML.replace("min_batch = 1", f"min_batch = {min_batch}"), previous=old)


def restarted(bare_service: World) -> Registry:
    return Registry(bare_service.running.store, trusted=[bare_service.running.keys.trust])


def outline(registry: Registry) -> list[tuple[object, ...]]:
    return [(c.id, c.name, c.state, c.manifest, c.first, c.versions) for c in registry.all()]


def test_a_collection_is_found_by_id_and_by_name(bare_service: World) -> None:
    registry = bare_service.running.registry
    found = registry.get(bare_service.manifest.collection)
    assert isinstance(found, Collection)
    assert registry.get("settings") is found
    assert (found.id, found.name, found.state) == (
        bare_service.manifest.collection,
        "settings",
        "open",
    )
    assert (found.mechanism.tally_size, found.plaintext_size) == (3, 64)


@pytest.mark.parametrize("name", ["", "nothing", "x" * 10_000])
def test_an_unknown_name_is_a_404_that_repeats_little_of_it(bare_service: World, name: str) -> None:
    with pytest.raises(UnknownCollection) as refusal:
        bare_service.running.registry.get(name)
    assert refusal.value.status == 404
    assert len(refusal.value.detail) < 300


@pytest.mark.slow
def test_the_same_bytes_again_change_nothing(bare_service: World) -> None:
    envelope = bare_service.signed(bare_service.manifest)
    before = bare_service.running.store.log_head()
    assert not bare_service.running.registry.apply(envelope, audit=None).created
    assert bare_service.running.store.log_head() == before


def test_the_same_body_in_another_envelope_changes_nothing(bare_service: World) -> None:
    kept = bare_service.running.registry.envelope("settings")
    document = strict_json(bare_service.signed(bare_service.manifest))
    assert isinstance(document, dict)
    document["signatures"] *= 2
    assert not bare_service.running.registry.apply(canonical_json(document), audit=None).created
    assert bare_service.running.registry.envelope("settings") == kept


def test_another_body_for_a_known_version_is_refused(bare_service: World) -> None:
    bare_service.running.registry.apply(
        bare_service.signed(next_version(bare_service.manifest, 5)), audit=None
    )
    with pytest.raises(
        ManifestError, match="registered with another body: a change takes version 3"
    ):
        bare_service.running.registry.apply(
            bare_service.signed(next_version(bare_service.manifest, 6)), audit=None
        )


def test_a_successor_becomes_the_newest_and_the_older_one_stays(bare_service: World) -> None:
    newer = next_version(bare_service.manifest)
    applied = bare_service.running.registry.apply(bare_service.signed(newer), audit=None)
    assert (applied.created, applied.manifest) == (True, newer)
    found = bare_service.running.registry.get("settings")
    assert (found.manifest, found.first) == (newer, bare_service.manifest)
    assert dict(found.versions) == {1: bare_service.manifest, 2: newer}
    assert bare_service.running.registry.manifest(found.id, 1) == bare_service.manifest
    assert bare_service.running.registry.manifest(found.id, 3) is None


def test_a_rollback_is_refused(bare_service: World) -> None:
    second = next_version(bare_service.manifest, 5)
    bare_service.running.registry.apply(bare_service.signed(second), audit=None)
    assert not bare_service.running.registry.apply(
        bare_service.signed(bare_service.manifest), audit=None
    ).created
    assert bare_service.running.registry.get("settings").manifest == second


def test_a_version_cannot_be_skipped(bare_service: World) -> None:
    second = next_version(bare_service.manifest, 5)
    third = authored(TOML.replace("min_batch = 1", "min_batch = 9"), previous=second)
    with pytest.raises(ManifestError, match="version must be 2, the next one here, got 3"):
        bare_service.running.registry.apply(bare_service.signed(third), audit=None)


def test_a_collection_begins_with_its_first_version(bare_service: World) -> None:
    first = authored(OTHER)
    second = authored(OTHER.replace("min_batch = 1", "min_batch = 9"), previous=first)
    with pytest.raises(ManifestError, match="version must be 1, the next one here, got 2"):
        bare_service.running.registry.apply(bare_service.signed(second), audit=None)


def test_a_version_that_may_not_follow_is_refused_by_name_of_the_field(bare_service: World) -> None:
    second = next_version(bare_service.manifest, 5)
    bare_service.running.registry.apply(bare_service.signed(second), audit=None)
    document = strict_json(second.body)
    assert isinstance(document, dict)
    document |= {"version": 3, "previous": second.digest.hex(), "min_batch": 2}
    lowered = canonical_json(document)
    signed = dsse.sign(lowered, payload_type=MANIFEST_TYPE, seed=bare_service.operator_seed)
    with pytest.raises(ManifestError, match="min_batch"):
        bare_service.running.registry.apply(signed, audit=None)


def test_a_manifest_somebody_else_signed_is_refused(bare_service: World) -> None:
    signed = dsse.sign(authored(OTHER).body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    with pytest.raises(SignatureError):
        bare_service.running.registry.apply(signed, audit=None)
    assert len(bare_service.running.registry.all()) == 1


def test_a_changed_body_is_refused_before_it_is_parsed(bare_service: World) -> None:
    document = strict_json(bare_service.signed(authored(OTHER)))
    assert isinstance(document, dict)
    document["payload"] = "bm90IGEgbWFuaWZlc3Q="
    with pytest.raises(SignatureError):
        bare_service.running.registry.apply(canonical_json(document), audit=None)


@pytest.mark.parametrize("rubbish", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_envelope_are_refused(bare_service: World, rubbish: bytes) -> None:
    with pytest.raises(DecodeError):
        bare_service.running.registry.apply(rubbish, audit=None)


def test_a_name_moves_to_another_collection_only_on_request(bare_service: World) -> None:
    registry, other = bare_service.running.registry, authored(SAME_NAME)
    with pytest.raises(
        Problem, match=f"'settings' belongs to {bare_service.manifest.collection}"
    ) as refusal:
        registry.apply(bare_service.signed(other), audit=None)
    assert refusal.value.status == 409
    assert registry.apply(bare_service.signed(other), replace=True, audit=None).created
    assert registry.get("settings").id == other.collection
    assert registry.get(bare_service.manifest.collection).manifest == bare_service.manifest


def test_a_question_takes_a_name_only_if_devices_answer_it(bare_service: World) -> None:
    registry = bare_service.running.registry
    other = authored(TOML.replace('epsilon = "1"', 'epsilon = "2"'))
    wanted = (
        f"after 2027-01-01, the first day of {bare_service.manifest.collection}, got 2027-01-01"
    )
    with pytest.raises(ManifestError, match=f"valid_from must be {wanted}.*2027-01-02"):
        registry.apply(bare_service.signed(other), replace=True, audit=None)
    assert registry.get("settings").id == bare_service.manifest.collection


def test_after_a_move_the_old_collection_needs_replace_to_return(
    bare_service: World,
) -> None:
    registry = bare_service.running.registry
    registry.apply(bare_service.signed(authored(SAME_NAME)), replace=True, audit=None)
    newer = bare_service.signed(next_version(bare_service.manifest))
    with pytest.raises(Problem, match="belongs to"):
        registry.apply(newer, audit=None)
    registry.apply(newer, replace=True, audit=None)
    assert registry.get("settings").id == bare_service.manifest.collection


def test_a_closed_collection_stays_readable_and_takes_no_version(bare_service: World) -> None:
    registry = bare_service.running.registry
    registry.close(bare_service.manifest.collection, audit=None)
    registry.close(bare_service.manifest.collection, audit=None)
    assert registry.get("settings").state == "closed"
    with pytest.raises(Problem, match="is closed") as refusal:
        registry.apply(bare_service.signed(next_version(bare_service.manifest)), audit=None)
    assert refusal.value.status == 409


def test_envelopes_are_given_back_byte_for_byte(bare_service: World) -> None:
    newer = bare_service.signed(next_version(bare_service.manifest))
    bare_service.running.registry.apply(newer, audit=None)
    registry = bare_service.running.registry
    assert registry.envelope("settings") == registry.envelope("settings", 2) == newer
    assert registry.envelope(bare_service.manifest.collection, 1) == bare_service.signed(
        bare_service.manifest
    )
    with pytest.raises(UnknownCollection, match="versions 1…2, got 3"):
        registry.envelope("settings", 3)


def test_a_restart_finds_everything_as_it_was(bare_service: World) -> None:
    registry = bare_service.running.registry
    registry.apply(bare_service.signed(next_version(bare_service.manifest)), audit=None)
    registry.apply(bare_service.signed(authored(SAME_NAME)), replace=True, audit=None)
    registry.apply(bare_service.signed(authored(OTHER)), audit=None)
    registry.close(registry.get("colours").id, audit=None)
    again = restarted(bare_service)
    assert outline(again) == outline(registry)
    assert again.get("settings").id == registry.get("settings").id
    assert again.envelope("colours") == registry.envelope("colours")


def test_every_manifest_is_an_entry_of_the_log(bare_service: World) -> None:
    newer = next_version(bare_service.manifest)
    bare_service.running.registry.apply(bare_service.signed(newer), audit=None)
    entries = [(entry.type, entry.body_hash) for entry in bare_service.running.store.log()]
    assert entries[1:] == [("manifest", bare_service.manifest.digest), ("manifest", newer.digest)]


def test_a_manifest_written_by_hand_into_the_database_stops_the_service(
    bare_service: World,
) -> None:
    forged = authored(OTHER)
    envelope = dsse.sign(forged.body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    bare_service.running.store.add_manifest(
        ManifestRow(forged.collection, 1, forged.name, forged.digest, envelope), audit=None
    )
    with pytest.raises(StoreError, match=f"manifest 1 of {forged.collection} .* is refused"):
        restarted(bare_service)


def test_collections_are_listed_by_name(bare_service: World) -> None:
    bare_service.running.registry.apply(bare_service.signed(authored(OTHER)), audit=None)
    assert [found.name for found in bare_service.running.registry.all()] == ["colours", "settings"]
