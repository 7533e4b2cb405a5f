"""Tokens that are limited to collections: what they show, and every way around that is closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import decode_errors
from support.builders.api_world import DSSE, TODAY, World, authored, opened

BITS = {"dark_mode": True, "beta": False}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as service:
        for name in ("settings", "other"):
            service.count(service.register(authored(name)), [BITS] * 5)
        yield service


def test_a_name_in_the_request_stands_for_the_collection_it_means_now(service: World) -> None:
    body = {"role": "viewer", "label": "x", "collections": ["settings", "other", "settings"]}
    made = service.send("POST", "/v1/tokens", json=body).get_json()
    ids = [service.running.registry.get(name).id for name in ("other", "settings")]
    assert made["collections"] == sorted(ids)
    assert service.get("/v1/tokens", "admin").get_json()["tokens"][-1]["collections"] == sorted(ids)


@pytest.mark.parametrize("collections", [[], ["nothing"], "settings", [7], ["x"] * 101])
def test_a_scope_of_nothing_is_refused(service: World, collections: object) -> None:
    body = {"role": "viewer", "label": "x", "collections": collections}
    before = service.digest()
    assert service.send("POST", "/v1/tokens", json=body).status_code in (400, 404)
    assert service.digest() == before


def test_by_id_and_by_name_it_is_the_same(service: World) -> None:
    here, there = (service.running.registry.get(name) for name in ("settings", "other"))
    viewer = service.limit("viewer", here.id)
    for address in (here.id, here.name):
        assert service.get(f"/v1/collections/{address}/estimates", viewer).status_code == 200
    for address in (there.id, there.name):
        assert service.get(f"/v1/collections/{address}/estimates", viewer).status_code == 403


def test_the_ledger_shows_a_limited_token_its_own(service: World) -> None:
    here, there = (service.running.registry.get(name) for name in ("settings", "other"))
    viewer = service.limit("viewer", here.id)
    shown = service.get("/v1/ledger", viewer).get_json()
    assert there.id not in str(shown)
    assert here.id in str(shown)
    assert service.get(f"/v1/ledger?collection={there.name}", viewer).status_code == 403


def test_a_name_that_moves_to_another_collection_takes_no_token_along(service: World) -> None:
    here = service.running.registry.get("settings")
    viewer = service.limit("viewer", here.id)
    labels = ("dark_mode", "beta", "more")
    newer = authored("settings", labels=labels, valid_from="2027-01-02")
    service.running.registry.apply(service.signed(newer), replace=True, audit=None)
    assert service.running.registry.get("settings").id == newer.collection != here.id
    assert service.get("/v1/collections/settings/estimates", viewer).status_code == 403
    assert service.get(f"/v1/collections/{here.id}/estimates", viewer).status_code == 200


def test_a_limited_admin_registers_nothing_beside_its_collection(service: World) -> None:
    here = service.running.registry.get("settings")
    admin = service.limit("admin", here.id)
    foreign = service.signed(authored("settings", labels=("dark_mode", "beta", "more")))
    unknown = service.signed(authored("third"))
    before = service.digest()
    for path, body in (
        ("/v1/collections/settings?replace=true", foreign),
        (f"/v1/collections/{here.id}?replace=true", foreign),
        ("/v1/collections/third", unknown),
        ("/v1/collections/other", service.signed(authored("other"))),
    ):
        answer = service.send("PUT", path, admin, data=body, content_type=DSSE)
        assert answer.status_code in (400, 403)
    assert service.digest() == before
    same = service.signed(here.manifest)
    answer = service.send("PUT", "/v1/collections/settings", admin, data=same, content_type=DSSE)
    assert answer.status_code == 200


def test_a_limited_admin_makes_no_token_without_limits(service: World) -> None:
    admin = service.limit("admin", service.running.registry.get("settings").id)
    body = {"role": "admin", "label": "x"}
    assert service.send("POST", "/v1/tokens", admin, json=body).status_code == 403


def test_a_limited_relay_passes_on_reports_of_its_collection_alone(service: World) -> None:
    here, there = (service.running.registry.get(name) for name in ("settings", "other"))
    relay = service.limit("relay", here.id)
    taken = service.upload(here, *(service.report(here, BITS) for _ in range(3)), role=relay)
    assert (taken.status_code, taken.data) == (200, b"")
    refused = service.upload(there, *(service.report(there, BITS) for _ in range(3)), role=relay)
    assert {status.error for status in decode_errors(refused.data)} == {ReportError.TOKEN_INVALID}
    assert service.running.store.epochs(there.id)[0].n == 5
    assert service.running.store.epochs(here.id)[0].n == 8


def test_closing_an_epoch_is_for_admins_of_the_collection(service: World) -> None:
    here, there = (service.running.registry.get(name) for name in ("settings", "other"))
    admin = service.limit("admin", here.id)
    for found, status in ((there, 403), (here, 200)):
        path = f"/v1/collections/{found.name}/epochs/{TODAY}/close?early=true"
        assert service.send("POST", path, admin).status_code == status
    assert not service.running.store.is_closed(there.id, TODAY)
