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
SAME_NAME = TOML.replace('epsilon = "1"', 'epsilon = "2"')


def next_version(old: Manifest, min_batch: int = 5) -> Manifest:
    return authored(TOML.replace("min_batch = 1", f"min_batch = {min_batch}"), previous=old)


def restarted(world: World) -> Registry:
    return Registry(world.service.store, trusted=[world.service.keys.trust])


def outline(registry: Registry) -> list[tuple[object, ...]]:
    return [(c.id, c.name, c.state, c.manifest, c.first, c.versions) for c in registry.all()]


def test_a_collection_is_found_by_id_and_by_name(world: World) -> None:
    registry = world.service.registry
    found = registry.get(world.manifest.collection)
    assert isinstance(found, Collection)
    assert registry.get("settings") is found
    assert (found.id, found.name, found.state) == (world.manifest.collection, "settings", "open")
    assert (found.mechanism.tally_size, found.plaintext_size) == (3, 64)


@pytest.mark.parametrize("name", ["", "nothing", "x" * 10_000])
def test_an_unknown_name_is_a_404_that_repeats_little_of_it(world: World, name: str) -> None:
    with pytest.raises(UnknownCollection) as refusal:
        world.service.registry.get(name)
    assert refusal.value.status == 404
    assert len(refusal.value.detail) < 300


def test_the_same_bytes_again_change_nothing(world: World) -> None:
    envelope = world.signed(world.manifest)
    before = world.service.store.log_head()
    assert not world.service.registry.apply(envelope, audit=None).created
    assert world.service.store.log_head() == before


def test_the_same_body_in_another_envelope_changes_nothing(world: World) -> None:
    kept = world.service.registry.envelope("settings")
    document = strict_json(world.signed(world.manifest))
    assert isinstance(document, dict)
    document["signatures"] *= 2
    assert not world.service.registry.apply(canonical_json(document), audit=None).created
    assert world.service.registry.envelope("settings") == kept


def test_another_body_for_a_known_version_is_refused(world: World) -> None:
    world.service.registry.apply(world.signed(next_version(world.manifest, 5)), audit=None)
    with pytest.raises(
        ManifestError, match="registered with another body: a change takes version 3"
    ):
        world.service.registry.apply(world.signed(next_version(world.manifest, 6)), audit=None)


def test_a_successor_becomes_the_newest_and_the_older_one_stays(world: World) -> None:
    newer = next_version(world.manifest)
    applied = world.service.registry.apply(world.signed(newer), audit=None)
    assert (applied.created, applied.manifest) == (True, newer)
    found = world.service.registry.get("settings")
    assert (found.manifest, found.first) == (newer, world.manifest)
    assert dict(found.versions) == {1: world.manifest, 2: newer}
    assert world.service.registry.manifest(found.id, 1) == world.manifest
    assert world.service.registry.manifest(found.id, 3) is None


def test_a_rollback_is_refused(world: World) -> None:
    second = next_version(world.manifest, 5)
    world.service.registry.apply(world.signed(second), audit=None)
    assert not world.service.registry.apply(world.signed(world.manifest), audit=None).created
    assert world.service.registry.get("settings").manifest == second


def test_a_version_cannot_be_skipped(world: World) -> None:
    second = next_version(world.manifest, 5)
    third = authored(TOML.replace("min_batch = 1", "min_batch = 9"), previous=second)
    with pytest.raises(ManifestError, match="version must be 2, the next one here, got 3"):
        world.service.registry.apply(world.signed(third), audit=None)


def test_a_collection_begins_with_its_first_version(world: World) -> None:
    first = authored(OTHER)
    second = authored(OTHER.replace("min_batch = 1", "min_batch = 9"), previous=first)
    with pytest.raises(ManifestError, match="version must be 1, the next one here, got 2"):
        world.service.registry.apply(world.signed(second), audit=None)


def test_a_version_that_may_not_follow_is_refused_by_name_of_the_field(world: World) -> None:
    second = next_version(world.manifest, 5)
    world.service.registry.apply(world.signed(second), audit=None)
    document = strict_json(second.body)
    assert isinstance(document, dict)
    document |= {"version": 3, "previous": second.digest.hex(), "min_batch": 2}
    lowered = canonical_json(document)
    signed = dsse.sign(lowered, payload_type=MANIFEST_TYPE, seed=world.operator_seed)
    with pytest.raises(ManifestError, match="min_batch"):
        world.service.registry.apply(signed, audit=None)


def test_a_manifest_somebody_else_signed_is_refused(world: World) -> None:
    signed = dsse.sign(authored(OTHER).body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    with pytest.raises(SignatureError):
        world.service.registry.apply(signed, audit=None)
    assert len(world.service.registry.all()) == 1


def test_a_changed_body_is_refused_before_it_is_parsed(world: World) -> None:
    document = strict_json(world.signed(authored(OTHER)))
    assert isinstance(document, dict)
    document["payload"] = "bm90IGEgbWFuaWZlc3Q="
    with pytest.raises(SignatureError):
        world.service.registry.apply(canonical_json(document), audit=None)


@pytest.mark.parametrize("rubbish", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_envelope_are_refused(world: World, rubbish: bytes) -> None:
    with pytest.raises(DecodeError):
        world.service.registry.apply(rubbish, audit=None)


def test_a_name_moves_to_another_collection_only_on_request(world: World) -> None:
    registry, other = world.service.registry, authored(SAME_NAME)
    with pytest.raises(Problem, match=f"'settings' means {world.manifest.collection}") as refusal:
        registry.apply(world.signed(other), audit=None)
    assert refusal.value.status == 409
    assert registry.apply(world.signed(other), replace=True, audit=None).created
    assert registry.get("settings").id == other.collection
    assert registry.get(world.manifest.collection).manifest == world.manifest


def test_after_the_move_the_old_collections_next_version_needs_the_same_request(
    world: World,
) -> None:
    registry = world.service.registry
    registry.apply(world.signed(authored(SAME_NAME)), replace=True, audit=None)
    newer = world.signed(next_version(world.manifest))
    with pytest.raises(Problem, match="means"):
        registry.apply(newer, audit=None)
    registry.apply(newer, replace=True, audit=None)
    assert registry.get("settings").id == world.manifest.collection


def test_a_closed_collection_stays_readable_and_takes_no_version(world: World) -> None:
    registry = world.service.registry
    registry.close(world.manifest.collection, audit=None)
    registry.close(world.manifest.collection, audit=None)
    assert registry.get("settings").state == "closed"
    with pytest.raises(Problem, match="is closed") as refusal:
        registry.apply(world.signed(next_version(world.manifest)), audit=None)
    assert refusal.value.status == 409


def test_envelopes_are_given_back_byte_for_byte(world: World) -> None:
    newer = world.signed(next_version(world.manifest))
    world.service.registry.apply(newer, audit=None)
    registry = world.service.registry
    assert registry.envelope("settings") == registry.envelope("settings", 2) == newer
    assert registry.envelope(world.manifest.collection, 1) == world.signed(world.manifest)
    with pytest.raises(UnknownCollection, match="versions 1…2, got 3"):
        registry.envelope("settings", 3)


def test_a_restart_finds_everything_as_it_was(world: World) -> None:
    registry = world.service.registry
    registry.apply(world.signed(next_version(world.manifest)), audit=None)
    registry.apply(world.signed(authored(SAME_NAME)), replace=True, audit=None)
    registry.apply(world.signed(authored(OTHER)), audit=None)
    registry.close(registry.get("colours").id, audit=None)
    again = restarted(world)
    assert outline(again) == outline(registry)
    assert again.get("settings").id == registry.get("settings").id
    assert again.envelope("colours") == registry.envelope("colours")


def test_every_manifest_is_an_entry_of_the_log(world: World) -> None:
    newer = next_version(world.manifest)
    world.service.registry.apply(world.signed(newer), audit=None)
    entries = [(entry.type, entry.body_hash) for entry in world.service.store.log()]
    assert entries[1:] == [("manifest", world.manifest.digest), ("manifest", newer.digest)]


def test_a_manifest_that_was_put_into_the_database_by_hand_stops_the_service(world: World) -> None:
    forged = authored(OTHER)
    envelope = dsse.sign(forged.body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    world.service.store.add_manifest(
        ManifestRow(forged.collection, 1, forged.name, forged.digest, envelope), audit=None
    )
    with pytest.raises(StoreError, match=f"manifest 1 of {forged.collection} .* is refused"):
        restarted(world)


def test_collections_are_listed_by_name(world: World) -> None:
    world.service.registry.apply(world.signed(authored(OTHER)), audit=None)
    assert [found.name for found in world.service.registry.all()] == ["colours", "settings"]
