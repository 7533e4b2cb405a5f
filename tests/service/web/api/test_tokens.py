"""Tokens over HTTP: made, shown once, listed without their secret, revoked."""

from __future__ import annotations

import pytest

from support.builders.api_world import DAY, World


def create(service: World, **body: object) -> tuple[int, dict[str, object]]:
    answer = service.send("POST", "/v1/tokens", json=body)
    return answer.status_code, answer.get_json()


def test_a_new_token_works_at_once_and_is_never_shown_again(service: World) -> None:
    status, made = create(service, role="viewer", label="dashboard")
    assert (status, made["role"], made["label"], made["expires"]) == (
        201,
        "viewer",
        "dashboard",
        None,
    )
    service.tokens["new"] = str(made["token"])
    assert service.get("/v1/collections/x/estimates", "new").status_code == 404
    listed = service.get("/v1/tokens", "admin")
    assert str(made["token"]) not in listed.text
    assert listed.get_json()["tokens"][-1]["id"] == made["id"]


def test_the_list_shows_role_label_and_times_and_no_hash(service: World) -> None:
    rows = service.get("/v1/tokens", "admin").get_json()["tokens"]
    assert {tuple(row) for row in rows} == {
        ("id", "role", "label", "collections", "created", "expires", "revoked")
    }
    assert {row["label"]: row["revoked"] is not None for row in rows}["revoked"]


def test_a_token_may_be_made_to_expire(service: World) -> None:
    _, made = create(service, role="analyst", label="summer", expires_days=30)
    assert made["expires"] == int(service.clock()) + 30 * DAY
    service.tokens["new"] = str(made["token"])
    service.clock.now += 30 * DAY
    assert service.get("/v1/collections/x/estimates", "new").status_code == 401


def test_a_revoked_token_ends_at_once(service: World) -> None:
    _, made = create(service, role="admin", label="short")
    service.tokens["new"] = str(made["token"])
    answer = service.send("DELETE", f"/v1/tokens/{made['id']}")
    assert (answer.status_code, answer.data) == (204, b"")
    assert service.get("/v1/tokens", "new").status_code == 401


def test_revoking_what_is_not_there_is_404(service: World) -> None:
    answer = service.send("DELETE", "/v1/tokens/000000000000")
    assert answer.status_code == 404
    assert answer.get_json()["type"] == "urn:deniable:problem:not-found"


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ({}, "role"),
        ({"role": "viewer"}, "label"),
        ({"role": "root", "label": "x"}, "role"),
        ({"role": None, "label": "x"}, "role"),
        ({"role": "viewer", "label": ""}, "label"),
        ({"role": "viewer", "label": "x" * 65}, "label"),
        ({"role": "viewer", "label": "two\nlines"}, "label"),
        ({"role": "viewer", "label": 7}, "label"),
        ({"role": "viewer", "label": "x", "expires_days": 0}, "expires_days"),
        ({"role": "viewer", "label": "x", "expires_days": 3651}, "expires_days"),
        ({"role": "viewer", "label": "x", "expires_days": 1.5}, "expires_days"),
        ({"role": "viewer", "label": "x", "expires_days": 10**400}, "expires_days"),
        ({"role": "viewer", "label": "x", "rolle": "admin"}, "rolle"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_made(
    unchanged_service: World, body: dict[str, object], argument: str
) -> None:
    before = unchanged_service.digest()
    status, document = create(unchanged_service, **body)
    assert (status, document["argument"]) == (400, argument)
    assert document["accepted"]
    assert unchanged_service.digest() == before


@pytest.mark.parametrize(
    "body", [b" ", b"{", b"[]", b"null", b"\xff", b"[" * 10_000, b'{"a":' * 3_000, b"NaN"]
)
def test_a_body_that_is_no_json_object_is_refused(unchanged_service: World, body: bytes) -> None:
    before = unchanged_service.digest()
    answer = unchanged_service.send(
        "POST", "/v1/tokens", data=body, content_type="application/json"
    )
    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"
    assert unchanged_service.digest() == before


def test_a_long_body_is_refused_unread(unchanged_service: World) -> None:
    answer = unchanged_service.send(
        "POST", "/v1/tokens", data=b" " * 16_385, content_type="application/json"
    )
    assert answer.status_code == 413
    assert "16384" in answer.get_json()["detail"]


def test_a_body_of_another_type_is_refused(service: World) -> None:
    answer = service.send("POST", "/v1/tokens", data=b"role=admin")
    assert answer.status_code == 415
