"""Collections over HTTP: listing, signed manifests, registering, closing."""

from __future__ import annotations

import json

import pytest

from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from support.builders.api_world import DSSE, TODAY, World, authored

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


def put(
    service: World,
    manifest: Manifest,
    *,
    address: str | None = None,
    query: str = "",
    **changes: object,
) -> tuple[int, dict[str, object]]:
    arguments = {"data": service.signed(manifest), "content_type": DSSE} | changes
    path = f"/v1/collections/{address or manifest.collection}{query}"
    answer = service.send("PUT", path, "admin", **arguments)
    return answer.status_code, answer.get_json()


def test_the_list_shows_what_a_collection_asks_and_at_what_price(service: World) -> None:
    manifest = authored("browser", type="choice", labels=["a", "b", "c"])
    service.register(manifest)
    (row,) = service.get("/v1/collections", None).get_json()["collections"]
    assert list(row) == FIELDS
    assert row["collection"] == manifest.collection
    assert (row["mechanism"], row["epsilon"], row["state"]) == ("grr/1", "2", "open")
    assert (row["valid_from"], row["expires"]) == ("2027-01-01", "2027-06-01")
    assert row["domain"] == {"type": "choice", "labels": ["a", "b", "c"]}


def test_the_list_is_empty_before_the_first_collection(service: World) -> None:
    assert service.get("/v1/collections", None).get_json() == {"collections": []}


def test_a_manifest_comes_back_byte_for_byte(service: World) -> None:
    manifest = authored()
    put(service, manifest)
    answer = service.get("/v1/collections/settings/manifest", None)
    assert (answer.status_code, answer.mimetype) == (200, DSSE)
    assert answer.data == service.signed(manifest)


def test_every_version_of_a_manifest_stays_readable(service: World) -> None:
    first = authored()
    second = authored(min_batch=7, previous=first)
    put(service, first)
    put(service, second)
    path = f"/v1/collections/{first.collection}/manifest"
    trusted = [service.running.keys.trust]
    newest, oldest = (
        parse_manifest(
            dsse.verify(service.get(p, None).data, payload_type=MANIFEST_TYPE, trusted=trusted)
        )
        for p in (path, f"{path}?version=1")
    )
    assert (newest.version, oldest.version) == (2, 1)


@pytest.mark.parametrize("version", ["2", "65535"])
def test_a_version_that_is_not_there_is_404(service: World, version: str) -> None:
    put(service, authored())
    assert (
        service.get(f"/v1/collections/settings/manifest?version={version}", None).status_code == 404
    )


@pytest.mark.parametrize("version", ["0", "-1", "65536", "x", ""])
def test_a_version_out_of_range_is_refused(unchanged_service: World, version: str) -> None:
    answer = unchanged_service.get(f"/v1/collections/settings/manifest?version={version}", None)
    assert (answer.status_code, answer.get_json()["argument"]) == (400, "version")


def test_registering_creates_once_and_again_changes_nothing(service: World) -> None:
    manifest = authored()
    expected = {"collection": manifest.collection, "name": "settings", "version": 1}
    assert put(service, manifest) == (201, {**expected, "created": True})
    before = service.digest()
    assert put(service, manifest) == (200, {**expected, "created": False})
    assert service.digest() == before


def test_the_address_may_be_the_name(service: World) -> None:
    assert put(service, authored(), address="settings")[0] == 201


def test_an_address_that_is_not_the_manifests_own_is_refused(unchanged_service: World) -> None:
    before = unchanged_service.digest()
    status, document = put(unchanged_service, authored(), address="other")
    assert (status, document["argument"]) == (400, "collection")
    assert unchanged_service.digest() == before


def test_a_taken_name_moves_only_when_told(service: World) -> None:
    put(service, authored())
    other = authored(labels=["dark_mode", "beta", "notifications"], valid_from="2027-01-02")
    status, document = put(service, other)
    assert (status, document["type"]) == (409, "urn:deniable:problem:conflict")
    assert put(service, other, query="?replace=true")[0] == 201
    moved = service.running.registry.get("settings")
    assert moved.id == other.collection


def test_a_manifest_signed_by_somebody_else_is_refused(unchanged_service: World) -> None:
    before = unchanged_service.digest()
    forged = dsse.sign(authored().body, payload_type=MANIFEST_TYPE, seed=dsse.generate_key())
    status, document = put(unchanged_service, authored(), data=forged)
    assert (status, document["type"]) == (422, "urn:deniable:problem:manifest-refused")
    assert unchanged_service.digest() == before


def test_a_manifest_that_may_not_follow_is_refused_with_the_reason(service: World) -> None:
    first = authored(min_batch=9)
    put(service, first)
    values = json.loads(first.body) | {"version": 3, "previous": first.digest.hex()}
    body = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    forged = dsse.sign(body, payload_type=MANIFEST_TYPE, seed=service.operator_seed)
    status, document = put(service, first, data=forged)
    assert status == 422
    assert "version" in str(document["detail"])


@pytest.mark.parametrize(
    "body", [b" ", b"{", b"[]", b"\xff" * 100, b"[" * 60_000, b'{"payload":1}', b"null"]
)
def test_bytes_that_are_no_envelope_are_an_invalid_message(
    unchanged_service: World, body: bytes
) -> None:
    before = unchanged_service.digest()
    status, document = put(unchanged_service, authored(), data=body)
    assert (status, document["type"]) == (400, "urn:deniable:problem:invalid-message")
    assert unchanged_service.digest() == before


def test_another_content_type_is_not_supported(unchanged_service: World) -> None:
    status, document = put(unchanged_service, authored(), content_type="application/json")
    assert status == 415
    assert DSSE in str(document["detail"])


def test_a_body_that_says_it_is_too_long_is_refused_unread(unchanged_service: World) -> None:
    status, document = put(unchanged_service, authored(), data=b"x" * ((1 << 20) + 1))
    assert status == 413
    assert "1048576" in str(document["detail"])


def test_a_closed_collection_says_so_and_keeps_its_estimates(service: World) -> None:
    collection = service.register(authored())
    service.count(collection, [{"dark_mode": True, "beta": True}] * 5, epoch=TODAY)
    answer = service.send("POST", f"/v1/collections/{collection.id}/close")
    assert answer.get_json() == {"collection": collection.id, "state": "closed"}
    (row,) = service.get("/v1/collections", None).get_json()["collections"]
    assert row["state"] == "closed"
    assert service.get("/v1/collections/settings/estimates").status_code == 200


def test_a_closed_collection_takes_no_report(service: World) -> None:
    collection = service.register(authored())
    report = service.report(collection, {"dark_mode": True, "beta": False})
    service.send("POST", f"/v1/collections/{collection.id}/close")
    answer = service.upload(collection, report)
    assert answer.status_code == 410
    assert answer.get_json()["type"] == "urn:deniable:problem:collection-closed"


@pytest.mark.slow
def test_closing_twice_is_closing_once(service: World) -> None:
    collection = service.register(authored())
    path = f"/v1/collections/{collection.id}/close"
    service.send("POST", path)
    before = service.digest()
    assert service.send("POST", path).status_code == 200
    assert service.digest() == before
