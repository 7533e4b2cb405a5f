"""Every operation of the OpenAPI document, with what it says it takes and with what it does not.

No 5xx, no answer the document does not state, and what is refused has changed nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation, BaseSchema
from schemathesis.specs.openapi import checks

from deniable_aggregator.access import users
from deniable_aggregator.base.roles import allows
from deniable_shared.wire.report import MEDIA_TYPE, Report, ReportHeader, encode_upload
from support.builders.api_world import DSSE, TODAY, World, authored, opened
from support.tiers import by_tier, rows

pytestmark = pytest.mark.deeper
EXAMPLES = by_tier(1, 12)
FEW = by_tier(1, 3)
REFUSED = by_tier(1, 6)
"""Examples of requests of which the document says that who asks is no one who may."""
PLAIN = [
    ("/healthz", "GET"),
    ("/metrics", "GET"),
    ("/openapi.json", "GET"),
    ("/readyz", "GET"),
    ("/v1/keys", "GET"),
    ("/v1/ledger/reconcile", "POST"),
    ("/v1/sessions", "GET"),
    ("/v1/tokens", "GET"),
    ("/v1/users", "GET"),
]
WITH_ARGUMENTS = [
    ("/v1/audit", "GET"),
    ("/v1/collections", "GET"),
    ("/v1/collections/{collection}", "DELETE"),
    ("/v1/collections/{collection}", "PUT"),
    ("/v1/collections/{collection}/archive", "POST"),
    ("/v1/collections/{collection}/close", "POST"),
    ("/v1/collections/{collection}/comparison", "GET"),
    ("/v1/collections/{collection}/epochs", "GET"),
    ("/v1/collections/{collection}/epochs/{epoch}/close", "POST"),
    ("/v1/collections/{collection}/estimates", "GET"),
    ("/v1/collections/{collection}/alerts", "GET"),
    ("/v1/collections/{collection}/alerts", "POST"),
    ("/v1/collections/{collection}/alerts/{alert_id}", "DELETE"),
    ("/v1/collections/{collection}/links", "GET"),
    ("/v1/collections/{collection}/links", "POST"),
    ("/v1/collections/{collection}/links/{link_id}", "DELETE"),
    ("/v1/collections/{collection}/manifest", "GET"),
    ("/v1/collections/{collection}/notes", "GET"),
    ("/v1/collections/{collection}/notes", "POST"),
    ("/v1/collections/{collection}/notes/{note_id}", "DELETE"),
    ("/v1/collections/{collection}/reports", "POST"),
    ("/v1/collections/{collection}/releases", "GET"),
    ("/v1/collections/{collection}/releases", "POST"),
    ("/v1/collections/{collection}/releases/{release_id}", "GET"),
    ("/v1/collections/{collection}/releases/{release_id}/questions", "POST"),
    ("/v1/collections/{collection}/series", "GET"),
    ("/v1/collections/{collection}/unarchive", "POST"),
    ("/v1/collections/{collection}/voucher-key", "POST"),
    ("/v1/collections/{collection}/voucher-key/replace", "POST"),
    ("/v1/collections/{collection}/vouchers", "POST"),
    ("/v1/keys/rotate", "POST"),
    ("/v1/ledger", "GET"),
    ("/v1/log", "GET"),
    ("/v1/sessions/{session_id}", "DELETE"),
    ("/v1/sign-in-links", "POST"),
    ("/v1/tokens", "POST"),
    ("/v1/tokens/{token_id}", "DELETE"),
    ("/v1/users", "POST"),
    ("/v1/users/{name}", "DELETE"),
]
NEGATIVE = [(*operation, GenerationMode.NEGATIVE) for operation in WITH_ARGUMENTS]
POSITIVE = [(*operation, GenerationMode.POSITIVE) for operation in PLAIN + WITH_ARGUMENTS]
BOTH = rows(POSITIVE + NEGATIVE, by_default=POSITIVE)
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
BITS = {"dark_mode": True, "beta": False}


AnyCase = Case[Any]


def send_json(context: object, value: object) -> bytes:
    return json.dumps(value).encode()


def uploads() -> st.SearchStrategy[bytes]:
    """Bytes, and well formed uploads of reports that do not open."""
    headers = st.builds(
        ReportHeader,
        report_id=st.binary(min_size=16, max_size=16),
        epoch=st.integers(TODAY - 9, TODAY + 9),
        manifest_version=st.integers(0, 2),
        key_id=st.integers(0, 2),
    )
    reports = st.builds(Report, headers, st.binary(min_size=1, max_size=200))
    return st.binary(max_size=300) | st.lists(reports, min_size=1, max_size=3).map(encode_upload)


schemathesis.serializer(DSSE)(send_json)
schemathesis.openapi.media_type(MEDIA_TYPE, uploads())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("fuzz")) as service:
        monkeypatch = pytest.MonkeyPatch()
        monkeypatch.setattr(users, "LOG2_N", 4)  # a user is added in no time
        other = service.register(authored("other"))
        _, service.tokens["admin of other"] = service.running.tokens.create(
            "admin", "other", collections=[other.id], audit=None
        )
        for name, read in (("settings", "live"), ("kept", "closed"), ("secret", "releases")):
            service.count(service.register(authored(name, read=read)), [BITS] * 5)
        yield service
        monkeypatch.undo()


@pytest.fixture(scope="module")
def schema(service: World) -> BaseSchema:
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
    return schemathesis.openapi.from_wsgi("/openapi.json", service.app, config=config)


def cases(
    schema: BaseSchema, path: str, method: str, mode: GenerationMode
) -> st.SearchStrategy[AnyCase]:
    """Cases of one operation: half of them for collections that are there, if it takes more."""
    operation: APIOperation[Any, Any, Any, Any] = schema[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
        return operation.as_strategy(mode)
    real: dict[str, st.SearchStrategy[object]] = {
        "collection": st.sampled_from(["settings", "kept", "secret"]),
        "epoch": st.integers(TODAY - 2, TODAY + 1).map(str),
    }
    real = {name: values for name, values in real.items() if f"{{{name}}}" in path}
    aimed = st.fixed_dictionaries(real).flatmap(
        lambda values: operation.as_strategy(mode, path_parameters=values)
    )
    return st.one_of(aimed, operation.as_strategy(mode)) if real else operation.as_strategy(mode)


def run(
    strategy: st.SearchStrategy[AnyCase],
    check: Callable[[AnyCase], None],
    number: int = EXAMPLES,
) -> None:
    quick = settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    quick(given(case=strategy)(check))()


def answered(case: AnyCase, headers: dict[str, str]) -> Response:
    response = case.call(headers=headers)
    case.validate_response(response, checks=list(CHECKS), headers=headers)
    return response


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), PLAIN + WITH_ARGUMENTS)
def test_what_the_document_allows_is_answered_as_it_says(
    service: World, schema: BaseSchema, path: str, method: str
) -> None:
    def check(case: AnyCase) -> None:
        answered(case, service.authorization("admin"))

    run(cases(schema, path, method, GenerationMode.POSITIVE), check)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), WITH_ARGUMENTS)
def test_what_the_document_does_not_allow_is_refused_and_changes_nothing(
    service: World, schema: BaseSchema, path: str, method: str
) -> None:
    def check(case: AnyCase) -> None:
        before = service.digest()
        response = answered(case, service.authorization("admin"))
        if response.status_code >= 400:
            assert service.digest() == before
        else:  # right only where what is wrong does not survive the way onto the wire
            case.validate_response(response, checks=[checks.negative_data_rejection])

    run(cases(schema, path, method, GenerationMode.NEGATIVE), check)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_manifest_with_any_bit_changed_is_refused(service: World, data: st.DataObject) -> None:
    before = service.digest()
    manifest = authored("settings", min_batch=4, previous=authored("settings"))
    envelope = bytearray(service.signed(manifest))
    bit = data.draw(st.integers(0, 8 * len(envelope) - 1))
    envelope[bit // 8] ^= 1 << bit % 8
    answer = service.send(
        "PUT", "/v1/collections/settings", data=bytes(envelope), content_type=DSSE
    )
    assert answer.status_code in (400, 422)
    assert answer.content_type == "application/problem+json"
    assert service.digest() == before


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method", "mode"), BOTH)
def test_without_a_token_nothing_can_be_changed(
    service: World, schema: BaseSchema, path: str, method: str, mode: GenerationMode
) -> None:
    before = service.digest()

    def check(case: AnyCase) -> None:
        answered(case, {})

    run(cases(schema, path, method, mode), check, number=REFUSED)
    assert service.digest() == before


LESSER = by_tier(
    ("viewer", "admin of other"), ("viewer", "analyst", "relay", "metrics", "admin of other")
)


def allowed(document: dict[str, Any], caller: str) -> bool:
    """Whether the document's own words let this caller in; `other` is a collection of its own."""
    needs = re.search(r"role (\w+) or above", document.get("description", ""))
    role, _, scope = caller.partition(" of ")
    return needs is None or (not scope and allows(role, needs[1]))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method", "mode"), BOTH)
def test_a_lesser_caller_is_refused_before_anything_else_is_looked_at(
    service: World, schema: BaseSchema, path: str, method: str, mode: GenerationMode
) -> None:
    document = schema.raw_schema["paths"][path][method.lower()]
    callers = [caller for caller in LESSER if not allowed(document, caller)]
    if not callers or path == "/v1/ledger":
        return
    before = service.digest()

    def check(case: AnyCase) -> None:
        statuses = {
            caller: answered(case, service.authorization(caller)).status_code for caller in callers
        }
        assert set(statuses.values()) <= {403, 404, 405}, statuses

    run(cases(schema, path, method, mode), check, number=FEW)
    assert service.digest() == before


@pytest.mark.slow
def test_every_operation_is_run(schema: BaseSchema) -> None:
    documented = {
        (path, method.upper())
        for path, item in schema.raw_schema["paths"].items()
        for method in item
    }
    assert documented == {*PLAIN, *WITH_ARGUMENTS}
