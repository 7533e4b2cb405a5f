"""Who may call what: every operation against every kind of token."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from deniable_aggregator.dashboard.pages import pages
from deniable_shared.report import MEDIA_TYPE
from support.api_world import DSSE, TODAY, World, authored, opened


def addressed(rule: str) -> str:
    """A route as OpenAPI writes it."""
    return re.sub(r"<(.*?)>", r"{\1}", rule)


KINDS = ("nobody", "viewer", "analyst", "admin", "relay", "revoked", "expired")

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
    ("GET", "/v1/collections/{collection}/epochs"),
    ("GET", "/v1/collections/{collection}/releases"),
    ("GET", "/v1/collections/{collection}/releases/{release_id}"),
    ("GET", "/v1/ledger"),
]
ANALYST = [
    ("POST", "/v1/collections/{collection}/releases"),
    ("POST", "/v1/collections/{collection}/releases/{release_id}/questions"),
]
ADMIN = [
    ("PUT", "/v1/collections/{collection}"),
    ("POST", "/v1/collections/{collection}/close"),
    ("POST", "/v1/collections/{collection}/epochs/{epoch}/close"),
    ("POST", "/v1/keys/rotate"),
    ("POST", "/v1/ledger/reconcile"),
    ("GET", "/v1/tokens"),
    ("POST", "/v1/tokens"),
    ("DELETE", "/v1/tokens/{token_id}"),
]
PAGES = [("GET", addressed(page.path), page.role) for page in pages().values()] + [
    ("POST", addressed(page.path), page.post.role) for page in pages().values() if page.post
]
RANK = {"viewer": 1, "analyst": 2, "admin": 3}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("roles")) as world:
        world.register(authored())
        yield world


def ask(world: World, method: str, template: str, kind: str) -> int:
    """The status; the request itself is valid wherever that changes nothing for the next one."""
    path = template.format(
        collection="settings", epoch=TODAY + 1, token_id="0" * 12, release_id="0" * 16
    )
    content_type = {"PUT": DSSE, "POST": "application/json"}.get(method)
    if template.endswith("reports"):
        content_type = MEDIA_TYPE
    if template.endswith("{collection}/close"):
        path = path.replace("settings", "nothing")
    role = None if kind == "nobody" else kind
    answer = world.send(
        method, path, role, data=b"{}" if content_type else None, content_type=content_type
    )
    return answer.status_code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "path"), PUBLIC)
def test_public_operations_ask_nobody_who_they_are(
    world: World, method: str, path: str, kind: str
) -> None:
    expected = {400} if method == "POST" else {200}
    assert {ask(world, method, path, kind)} == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [(*operation, "viewer") for operation in VIEWER]
    + [(*operation, "analyst") for operation in ANALYST]
    + [(*operation, "admin") for operation in ADMIN],
)
def test_other_operations_ask_for_a_role(
    world: World, method: str, path: str, needed: str, kind: str
) -> None:
    status = ask(world, method, path, kind)
    if kind in ("nobody", "revoked", "expired"):
        assert status == 401
    elif RANK.get(kind, 0) < RANK[needed]:
        assert status == 403
    else:
        assert status not in (401, 403)


def test_the_matrix_knows_every_operation(world: World) -> None:
    paths = world.get("/openapi.json", None).get_json()["paths"]
    operations = {(method.upper(), path) for path in paths for method in paths[path]}
    assert operations == {*PUBLIC, *VIEWER, *ANALYST, *ADMIN}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "path", "needed"), PAGES)
def test_a_page_asks_for_its_role(
    world: World, method: str, path: str, needed: str | None, kind: str
) -> None:
    status = ask(world, method, path, kind)
    if needed is None:
        assert status == 200
    elif kind in ("nobody", "revoked", "expired"):
        assert status == 401
    elif RANK.get(kind, 0) < RANK[needed]:
        assert status == 403
    else:
        assert status not in (401, 403)


def test_401_says_which_scheme_is_spoken(world: World) -> None:
    answer = world.get("/v1/tokens", "revoked")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="deniable"'
    assert answer.get_json()["type"] == "urn:deniable:problem:unauthorized"


def test_403_says_which_role_is_needed_and_which_there_is(world: World) -> None:
    document = world.get("/v1/tokens", "analyst").get_json()
    assert document["type"] == "urn:deniable:problem:forbidden"
    assert "role admin or above, the token has analyst" in document["detail"]


def test_a_stranger_learns_nothing_of_arguments_or_collections(world: World) -> None:
    answers = {
        world.get(f"/v1/collections/{name}/estimates{query}", None).data
        for name in ("settings", "nothing")
        for query in ("", "?confidence=7", "?nonsense=1")
    }
    assert len(answers) == 1


@pytest.mark.parametrize("place", ["query", "cookie", "basic"])
def test_a_token_counts_in_the_bearer_header_only(world: World, place: str) -> None:
    token = world.tokens["admin"]
    query = f"?token={token}&access_token={token}" if place == "query" else ""
    headers = {
        "query": {},
        "cookie": {"Cookie": f"token={token}; Authorization=Bearer {token}"},
        "basic": {"Authorization": f"Basic {token}"},
    }[place]
    assert world.get(f"/v1/tokens{query}", None, **headers).status_code == 401
