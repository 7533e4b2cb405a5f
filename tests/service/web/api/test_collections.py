"""Collections over HTTP: listing, signed manifests, registering, closing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from support.builders.api_world import DSSE, TODAY, World, authored, opened

FIELDS = [
    "collection",
    "name",
    "purpose",
    "owner",
    "version",
    "state",
    "archived",
    "mechanism",
    "epsilon",
    "repeat",
    "read",
    "requires",
    "identified",
    "epoch_seconds",
    "valid_from",
    "expires",
    "domain",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as world:
        yield world


def put(
    world: World,
    manifest: Manifest,
    *,
    address: str | None = None,
    query: str = "",
    **changes: object,
) -> tuple[int, dict[str, object]]:
    arguments = {"data": world.signed(manifest), "content_type": DSSE} | changes
    path = f"/v1/collections/{address or manifest.collection}{query}"
    answer = world.send("PUT", path, "admin", **arguments)
    return answer.status_code, answer.get_json()


def test_the_list_shows_what_a_collection_asks_and_at_what_price(world: World) -> None:
    manifest = authored("browser", type="choice", labels=["a", "b", "c"])
    world.register(manifest)
    (row,) = world.get("/v1/collections", None).get_json()["collections"]
    assert list(row) == FIELDS
    assert row["collection"] == manifest.collection
    assert (row["mechanism"], row["epsilon"], row["state"]) == ("grr/1", "2", "open")
    assert (row["valid_from"], row["expires"]) == ("2027-01-01", "2027-06-01")
    assert row["domain"] == {"type": "choice", "labels": ["a", "b", "c"]}


def test_the_list_is_empty_before_the_first_collection(world: World) -> None:
    assert world.get("/v1/collections", None).get_json() == {"collections": []}


def test_a_manifest_comes_back_byte_for_byte(world: World) -> None:
    manifest = authored()
    put(world, manifest)
    answer = world.get("/v1/collections/settings/manifest", None)
    assert (answer.status_code, answer.mimetype) == (200, DSSE)
    assert answer.data == world.signed(manifest)


def test_every_version_of_a_manifest_stays_readable(world: World) -> None:
    first = authored()
    second = authored(min_batch=7, previous=first)
    put(world, first)
    put(world, second)
    path = f"/v1/collections/{first.collection}/manifest"
    trusted = [world.service.keys.trust]
    newest, oldest = (
        parse_manifest(
            dsse.verify(world.get(p, None).data, payload_type=MANIFEST_TYPE, trusted=trusted)
        )
        for p in (path, f"{path}?version=1")
    )
    assert (newest.version, oldest.version) == (2, 1)


@pytest.mark.parametrize("version", ["2", "65535"])
def test_a_version_that_is_not_there_is_404(world: World, version: str) -> None:
    put(world, authored())
    assert (
        world.get(f"/v1/collections/settings/manifest?version={version}", None).status_code == 404
    )


@pytest.mark.parametrize("version", ["0", "-1", "65536", "x", ""])
def test_a_version_out_of_range_is_refused(world: World, version: str) -> None:
    answer = world.get(f"/v1/collections/settings/manifest?version={version}", None)
    assert (answer.status_code, answer.get_json()["argument"]) == (400, "version")


def test_registering_creates_once_and_again_changes_nothing(world: World) -> None:
    manifest = authored()
    expected = {"collection": manifest.collection, "name": "settings", "version": 1}
    assert put(world, manifest) == (201, {**expected, "created": True})
    before = world.digest()
    assert put(world, manifest) == (200, {**expected, "created": False})
    assert world.digest() == before


def test_the_address_may_be_the_name(world: World) -> None:
    assert put(world, authored(), address="settings")[0] == 201


def test_an_address_that_is_not_the_manifests_own_is_refused(world: World) -> None:
    before = world.digest()
    status, document = put(world, authored(), address="other")
    assert (status, document["argument"]) == (400, "collection")
    assert world.digest() == before


def test_a_taken_name_moves_only_when_told(world: World) -> None:
    put(world, authored())
    other = authored(labels=["dark_mode", "beta", "notifications"])
    status, document = put(world, other)
    assert (status, document["type"]) == (409, "urn:deniable:problem:conflict")
    assert put(world, other, query="?replace=true")[0] == 201
    moved = world.service.registry.get("settings")
    assert moved.id == other.collection


def test_a_manifest_signed_by_somebody_else_is_refused(world: World) -> None:
    before = world.digest()
    forged = dsse.sign(authored().body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    status, document = put(world, authored(), data=forged)
    assert (status, document["type"]) == (422, "urn:deniable:problem:manifest-refused")
    assert world.digest() == before


def test_a_manifest_that_may_not_follow_is_refused_with_the_reason(world: World) -> None:
    first = authored(min_batch=9)
    put(world, first)
    values = json.loads(first.body) | {"version": 3, "previous": first.digest.hex()}
    body = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    forged = dsse.sign(body, payload_type=MANIFEST_TYPE, seed=world.operator_seed)
    status, document = put(world, first, data=forged)
    assert status == 422
    assert "version" in str(document["detail"])


@pytest.mark.parametrize(
    "body", [b" ", b"{", b"[]", b"\xff" * 100, b"[" * 60_000, b'{"payload":1}', b"null"]
)
def test_bytes_that_are_no_envelope_are_an_invalid_message(world: World, body: bytes) -> None:
    before = world.digest()
    status, document = put(world, authored(), data=body)
    assert (status, document["type"]) == (400, "urn:deniable:problem:invalid-message")
    assert world.digest() == before


def test_another_content_type_is_not_supported(world: World) -> None:
    status, document = put(world, authored(), content_type="application/json")
    assert status == 415
    assert DSSE in str(document["detail"])


def test_a_body_that_says_it_is_too_long_is_refused_unread(world: World) -> None:
    status, document = put(world, authored(), data=b"x" * ((1 << 20) + 1))
    assert status == 413
    assert "1048576" in str(document["detail"])


def test_a_closed_collection_says_so_and_keeps_its_estimates(world: World) -> None:
    collection = world.register(authored())
    world.count(collection, [{"dark_mode": True, "beta": True}] * 5, epoch=TODAY)
    answer = world.send("POST", f"/v1/collections/{collection.id}/close")
    assert answer.get_json() == {"collection": collection.id, "state": "closed"}
    (row,) = world.get("/v1/collections", None).get_json()["collections"]
    assert row["state"] == "closed"
    assert world.get("/v1/collections/settings/estimates").status_code == 200


def test_a_closed_collection_takes_no_report(world: World) -> None:
    collection = world.register(authored())
    report = world.report(collection, {"dark_mode": True, "beta": False})
    world.send("POST", f"/v1/collections/{collection.id}/close")
    answer = world.upload(collection, report)
    assert answer.status_code == 410
    assert answer.get_json()["type"] == "urn:deniable:problem:collection-closed"


def test_closing_twice_is_closing_once(world: World) -> None:
    collection = world.register(authored())
    path = f"/v1/collections/{collection.id}/close"
    world.send("POST", path)
    before = world.digest()
    assert world.send("POST", path).status_code == 200
    assert world.digest() == before
