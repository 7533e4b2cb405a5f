"""The OpenAPI document: valid, complete, and about nothing that is not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema_rs
import pytest
import schemathesis

from deniable_aggregator.web.api import openapi
from deniable_shared.wire.problems import PROBLEMS
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, MEDIA_TYPE
from support.builders.api_world import World, opened

PROBLEM = "application/problem+json"
PAGES = ("dashboard.", "shared.", "signin.", "oidc.")
"""Blueprints for people."""
LONG = 60.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("openapi")) as service:
        yield service


@pytest.fixture(scope="module")
def document(service: World) -> dict[str, Any]:
    answer = service.get("/openapi.json", None)
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    document: dict[str, Any] = answer.get_json()
    return document


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    schemathesis.openapi.from_dict(document).validate()


def test_members_that_came_later_are_promised_like_the_others(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    later = {"CollectionDocument": {"archived", "requires"}, "ReconciledDocument": {"lost"}}
    for name, members in later.items():
        assert members <= set(schemas[name]["required"])
        assert not [each for each in members if "default" in schemas[name]["properties"][each]]
    assert "x-later" not in json.dumps(document)


def test_every_schema_is_valid_json_schema(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        assert jsonschema_rs.meta.is_valid(schema)


def test_every_route_is_documented_and_every_documented_path_is_a_route(
    service: World, document: dict[str, Any]
) -> None:
    routes = {
        (rule.rule.replace("<path:", "{").replace("<", "{").replace(">", "}"), method.lower())
        for rule in service.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if not rule.endpoint.startswith(PAGES)
    }
    documented = {(path, method) for path, method, _ in operations(document)}
    assert routes == documented


def test_every_reference_resolves_and_every_schema_is_used(document: dict[str, Any]) -> None:
    used = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    defined = set(document["components"]["schemas"])
    arguments = {name for name in defined if name.endswith("Arguments")}  # shown as parameters
    assert used <= defined
    assert defined - used == arguments


def test_operation_ids_are_unique_and_every_operation_says_what_it_does(
    document: dict[str, Any],
) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert all(operation["summary"].endswith(".") for _, _, operation in operations(document))


def test_refusals_are_problem_documents_in_every_operation(document: dict[str, Any]) -> None:
    for _, _, operation in operations(document):
        refusals = {s: r for s, r in operation["responses"].items() if int(s) >= 400}
        assert "500" in refusals
        assert {tuple(answer["content"]) for answer in refusals.values()} == {(PROBLEM,)}


def test_a_path_with_a_parameter_may_be_at_no_address(
    service: World, document: dict[str, Any]
) -> None:
    """A backslash in it is refused with 404 by every operation."""
    for path, method, operation in operations(document):
        if "{" in path:
            assert "404" in operation["responses"], (method, path)
    answer = service.send("PUT", "/v1/collections/a%5Cb", data=b"", content_type="text/plain")
    assert answer.status_code == 404


def test_every_kind_of_problem_has_an_operation_that_answers_it(document: dict[str, Any]) -> None:
    text = "".join(
        answer["description"]
        for _, _, operation in operations(document)
        for answer in operation["responses"].values()
    )
    # addresses and methods there are not, and forms of pages
    of_no_operation = {"not-found", "method-not-allowed", "form-refused"}
    missing = {slug for slug, kind in PROBLEMS.items() if f"`{kind.uri}`" not in text}
    assert missing <= of_no_operation


def test_all_but_public_operations_need_a_bearer_token(
    document: dict[str, Any],
) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes == {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "dn_…"}}
    asked = {
        operation["operationId"]: operation["security"] for _, _, operation in operations(document)
    }
    public = {"healthz", "readyz", "openapi", "collections", "manifest", "keys", "log"}
    assert {name for name, security in asked.items() if security == []} == public
    assert asked.pop("upload") == [{}, {"bearer": []}]
    assert all(asked[name] == [{"bearer": []}] for name in asked.keys() - public)


def test_the_upload_states_its_media_types(document: dict[str, Any]) -> None:
    upload = document["paths"]["/v1/collections/{collection}/reports"]["post"]
    assert list(upload["requestBody"]["content"]) == [MEDIA_TYPE]
    assert list(upload["responses"]["200"]["content"]) == [ERRORS_MEDIA_TYPE]


def test_the_document_is_made_once_for_all_that_ask_at_once(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread makes it, while another one has begun to wait for the same document."""
    begun, others_wait = threading.Event(), threading.Event()
    made: list[dict[str, str]] = []

    def slow(_app: object) -> dict[str, str]:
        begun.set()
        assert others_wait.wait(LONG)
        made.append({"openapi": "3.1.0"})
        return made[0]

    monkeypatch.setattr(openapi, "describe", slow)
    monkeypatch.setattr(openapi, "_rendering", Watched(openapi._rendering, others_wait))
    openapi._render_once.cache_clear()
    try:
        with ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(service.get, "/openapi.json", None) for _ in range(2)]
            assert begun.wait(LONG)
            answers = [each.result().get_json() for each in asked]
    finally:
        openapi._render_once.cache_clear()
    assert answers == [{"openapi": "3.1.0"}] * 2
    assert len(made) == 1


class Watched:
    """A lock that tells when a second thread asks for it."""

    def __init__(self, lock: threading.Lock, waits: threading.Event) -> None:
        self._lock, self._waits, self._asked = lock, waits, 0

    def __enter__(self) -> None:
        self._asked += 1
        if self._asked == 2:
            self._waits.set()
        self._lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self._lock.release()
