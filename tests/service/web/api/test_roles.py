"""Who may call what: every address of the application against every kind of caller.

The rows are held against the URL map: an address without a row turns this red.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from deniable_aggregator.access.audit import ACTS
from deniable_aggregator.web.api.operations import operation_of
from deniable_aggregator.web.dashboard.pages import pages
from deniable_shared.wire.report import MEDIA_TYPE
from support.builders.api_world import DSSE, TODAY, World, authored, opened
from support.doubles.browser import Browser

KINDS = ("nobody", "viewer", "analyst", "admin", "relay", "metrics", "revoked", "expired")
SIGNED_IN = ("viewer", "analyst", "admin")

PUBLIC = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/collections"),
    ("GET", "/v1/collections/{collection}/manifest"),
    ("GET", "/v1/keys"),
    ("GET", "/v1/log"),
    ("POST", "/v1/collections/{collection}/reports"),
]
VIEWER = [
    ("GET", "/v1/collections/{collection}/estimates"),
    ("GET", "/v1/collections/{collection}/comparison"),
    ("GET", "/v1/collections/{collection}/epochs"),
    ("GET", "/v1/collections/{collection}/notes"),
    ("GET", "/v1/collections/{collection}/releases"),
    ("GET", "/v1/collections/{collection}/series"),
    ("GET", "/v1/collections/{collection}/releases/{release_id}"),
    ("GET", "/v1/ledger"),
]
ANALYST = [
    ("POST", "/v1/collections/{collection}/notes"),
    ("DELETE", "/v1/collections/{collection}/notes/{note_id}"),
    ("POST", "/v1/collections/{collection}/releases"),
    ("POST", "/v1/collections/{collection}/releases/{release_id}/questions"),
]
METRICS = [("GET", "/metrics")]
ADMIN = [
    ("PUT", "/v1/collections/{collection}"),
    ("DELETE", "/v1/collections/{collection}"),
    ("POST", "/v1/collections/{collection}/archive"),
    ("POST", "/v1/collections/{collection}/unarchive"),
    ("POST", "/v1/collections/{collection}/close"),
    ("POST", "/v1/collections/{collection}/voucher-key"),
    ("POST", "/v1/collections/{collection}/voucher-key/replace"),
    ("POST", "/v1/collections/{collection}/vouchers"),
    ("POST", "/v1/collections/{collection}/epochs/{epoch}/close"),
    ("GET", "/v1/collections/{collection}/alerts"),
    ("POST", "/v1/collections/{collection}/alerts"),
    ("DELETE", "/v1/collections/{collection}/alerts/{alert_id}"),
    ("GET", "/v1/collections/{collection}/links"),
    ("POST", "/v1/collections/{collection}/links"),
    ("DELETE", "/v1/collections/{collection}/links/{link_id}"),
    ("GET", "/v1/audit"),
    ("POST", "/v1/keys/rotate"),
    ("POST", "/v1/ledger/reconcile"),
    ("GET", "/v1/sessions"),
    ("DELETE", "/v1/sessions/{session_id}"),
    ("POST", "/v1/sign-in-links"),
    ("GET", "/v1/tokens"),
    ("POST", "/v1/tokens"),
    ("DELETE", "/v1/tokens/{token_id}"),
    ("GET", "/v1/users"),
    ("POST", "/v1/users"),
    ("DELETE", "/v1/users/{name}"),
]
OPEN_PAGES = {
    ("GET", "/"): 200,
    ("GET", "/public/{collection}"): 404,  # none is public in this world
    ("GET", "/embed/{collection}"): 404,
    ("GET", "/shared"): 200,
    ("GET", "/sign-in"): 200,
    ("GET", "/sign-in/provider"): 404,  # none is set up
    ("GET", "/sign-in/provider/done"): 404,
}
"""Page → status, for everybody."""
FORMS = ["/shared", "/sign-in", "/sign-out", *(page.path for page in pages().values() if page.post)]
"""Pages that change something: refused without the token of their form."""
GUARDED_PAGES = {
    re.sub(r"<(.*?)>", r"{\1}", page.path): page.role
    for page in pages().values()
    if page.role is not None
}
"""Page → role it needs."""
RANK = {"viewer": 1, "analyst": 2, "admin": 3}
ENOUGH = {
    "viewer": {"viewer", "analyst", "admin"},
    "analyst": {"analyst", "admin"},
    "admin": {"admin"},
    "metrics": {"metrics", "admin"},
}
"""Role that is needed → roles of those who have it."""
WITH_ROLE = [
    *((*operation, "viewer") for operation in VIEWER),
    *((*operation, "analyst") for operation in ANALYST),
    *((*operation, "admin") for operation in ADMIN),
    *((*operation, "metrics") for operation in METRICS),
]
OF_A_COLLECTION = [
    row for row in WITH_ROLE if "{collection}" in row[1] and not row[1].endswith("n}/close")
]
COMPUTED = {("POST", "/v1/collections/<collection>/vouchers")}
"""Changes nothing: what it answers could be computed again."""
NARROWED = {"/v1/ledger"}
"""Not about one collection, and still open to a token that is limited to some."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("roles")) as service:
        here, there = service.register(authored()), service.register(authored("other"))
        for role in ("viewer", "analyst", "admin", "relay", "metrics"):
            service.limit(role, here.id)
            service.limit(role, there.id)
        yield service


def addressed(template: str) -> str:
    return template.format(
        collection="settings",
        epoch=TODAY + 1,
        name="nobody",
        release_id="0" * 16,
        session_id="0" * 12,
        token_id="0" * 12,
        alert_id="0" * 12,
        link_id="0" * 12,
        note_id="0" * 12,
    )


def ask(service: World, method: str, template: str, kind: str) -> int:
    """The status; the request itself is valid wherever that changes nothing for the next one."""
    path = addressed(template)
    content_type = {"PUT": DSSE, "POST": "application/json"}.get(method)
    if template.endswith("reports"):
        content_type = MEDIA_TYPE
    if template.endswith("{collection}/close") and " of " not in kind:
        path = path.replace("settings", "nothing")
    role = None if kind == "nobody" else kind
    answer = service.send(
        method, path, role, data=b"{}" if content_type else None, content_type=content_type
    )
    return answer.status_code


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_public_operations_ask_nobody_who_they_are(service: World, kind: str) -> None:
    statuses = {row: ask(service, *row, kind) for row in PUBLIC}
    assert statuses == {row: 400 if row[0] == "POST" else 200 for row in PUBLIC}


@pytest.mark.parametrize("kind", KINDS)
def test_other_operations_ask_for_a_role(service: World, kind: str) -> None:
    statuses = {row: ask(service, *row[:2], kind) for row in WITH_ROLE}
    if kind in ("nobody", "revoked", "expired"):
        assert statuses == dict.fromkeys(WITH_ROLE, 401)
        return
    too_little = {row for row in WITH_ROLE if kind not in ENOUGH[row[2]]}
    assert {row for row, status in statuses.items() if status == 403} == too_little
    assert 401 not in statuses.values(), statuses


@pytest.mark.parametrize("role", ["viewer", "analyst", "admin", "relay", "metrics"])
def test_a_token_of_another_collection_is_refused_wherever_there_is_one(
    service: World, role: str
) -> None:
    there = f"{role} of {service.running.registry.get('other').id}"
    let_in = {row for row in WITH_ROLE if ask(service, *row[:2], there) != 403}
    assert let_in == {row for row in WITH_ROLE if role in ENOUGH[row[2]] and row[1] in NARROWED}


@pytest.mark.parametrize("role", ["viewer", "analyst", "admin"])
def test_a_token_of_a_collection_may_do_there_what_its_role_may(service: World, role: str) -> None:
    here = f"{role} of {service.running.registry.get('settings').id}"
    let_in = {row for row in OF_A_COLLECTION if ask(service, *row[:2], here) != 403}
    assert let_in == {row for row in OF_A_COLLECTION if role in ENOUGH[row[2]]}


@pytest.mark.parametrize("caller", ["nobody", *SIGNED_IN])
def test_a_cookie_is_nobody_under_v1(service: World, caller: str) -> None:
    browser = signed_in(service, caller)
    for method, path, _ in WITH_ROLE:
        assert browser.client.open(addressed(path), method=method).status_code == 401


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["nobody", *SIGNED_IN])
def test_pages_open_for_whom_they_are(service: World, caller: str) -> None:
    browser = signed_in(service, caller)
    for (method, path), status in OPEN_PAGES.items():
        answer = browser.client.open(addressed(path), method=method, buffered=True)
        assert answer.status_code == status
    for path in FORMS:
        assert browser.client.post(path).status_code == 403
    for path, needed in GUARDED_PAGES.items():
        there = 404 if "{release_id}" in path else 200  # nothing was released in this world
        wanted = 303 if caller == "nobody" else there if RANK[caller] >= RANK[needed] else 403
        assert browser.client.get(addressed(path)).status_code == wanted


@pytest.mark.parametrize("role", KINDS)
def test_a_bearer_token_signs_nobody_in_to_pages(service: World, role: str) -> None:
    for path in GUARDED_PAGES:
        assert service.get(addressed(path), None if role == "nobody" else role).status_code == 303


def test_the_matrix_knows_every_address(service: World) -> None:
    routes = {
        (method, rule.rule)
        for rule in service.app.url_map.iter_rules()
        if rule.endpoint != "dashboard.static"
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    rows = [*PUBLIC, *VIEWER, *ANALYST, *ADMIN, *METRICS, *OPEN_PAGES]
    rows += [("POST", path) for path in FORMS] + [("GET", path) for path in GUARDED_PAGES]
    assert {(method, path.replace("{", "<").replace("}", ">")) for method, path in rows} == routes


def test_every_guarded_page_has_the_role_of_its_row(service: World) -> None:
    guarded = {
        (method, rule.rule.replace("<", "{").replace(">", "}")): role
        for rule in service.app.url_map.iter_rules()
        if (role := getattr(service.app.view_functions[rule.endpoint], "required_role", None))
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    rows = {("GET", path): role for path, role in GUARDED_PAGES.items()}
    rows |= {
        ("POST", re.sub(r"<(.*?)>", r"{\1}", page.path)): page.post.role
        for page in pages().values()
        if page.post is not None
    }
    assert guarded == rows


def test_every_operation_that_takes_a_role_and_changes_something_is_an_act(service: World) -> None:
    acts = {}
    for rule in service.app.url_map.iter_rules():
        promised = operation_of(service.app.view_functions[rule.endpoint])
        if promised is not None and promised.role is not None:
            [method] = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            acts[method, rule.rule] = promised.act
    assert {key for key, act in acts.items() if act is None} == {
        key for key in acts if key[0] == "GET" or key in COMPUTED
    }
    assert {act for act in acts.values() if act is not None} < set(ACTS)


def test_401_says_which_scheme_is_spoken(service: World) -> None:
    answer = service.get("/v1/tokens", "revoked")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="deniable"'
    assert answer.get_json()["type"] == "urn:deniable:problem:unauthorized"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "send the header “Authorization: Bearer dn_…”"),
        ({"Authorization": "Basic ZGVu"}, "send the header “Authorization: Bearer dn_…”"),
        ({"Authorization": "Bearer dn_other"}, "is unknown here, was revoked or has expired"),
    ],
    ids=["none", "another scheme", "wrong"],
)
def test_401_tells_a_wrong_token_from_none(service: World, sent: dict[str, str], said: str) -> None:
    answer = service.get("/v1/tokens", None, **sent)
    assert answer.status_code == 401
    assert said in answer.get_json()["detail"]


def test_403_says_which_role_is_needed_and_which_there_is(service: World) -> None:
    document = service.get("/v1/tokens", "analyst").get_json()
    assert document["type"] == "urn:deniable:problem:forbidden"
    assert "role admin or above, the token has analyst" in document["detail"]


def test_a_stranger_learns_nothing_of_arguments_or_collections(service: World) -> None:
    answers = {
        service.get(f"/v1/collections/{name}/estimates{query}", None).data
        for name in ("settings", "nothing")
        for query in ("", "?confidence=7", "?nonsense=1")
    }
    assert len(answers) == 1


@pytest.mark.parametrize("place", ["query", "cookie", "basic"])
def test_a_token_counts_in_the_bearer_header_only(service: World, place: str) -> None:
    token = service.tokens["admin"]
    query = f"?token={token}&access_token={token}" if place == "query" else ""
    headers = {
        "query": {},
        "cookie": {"Cookie": f"token={token}; Authorization=Bearer {token}"},
        "basic": {"Authorization": f"Basic {token}"},
    }[place]
    assert service.get(f"/v1/tokens{query}", None, **headers).status_code == 401


def signed_in(service: World, caller: str) -> Browser:
    if caller == "nobody":
        return Browser.at(service.app)
    return Browser.signed_in(service.app, service.running, caller)
