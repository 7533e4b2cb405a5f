"""A token, a session and a user end at the next request, whichever worker answers it."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from deniable_aggregator.client.remote import remote
from deniable_aggregator.operations.process.serving import Server, free_port, running
from support.builders.data_directory import prepared_at
from support.doubles.browser import FORM_TOKEN
from support.processes import postgres_server
from support.tiers import grid

pytestmark = pytest.mark.processes

PATIENCE = 60.0
ASKED = 12
"""Requests over connections of their own, which two workers share by chance."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without certificates, which each connection would otherwise read: the server speaks HTTP."""


@pytest.fixture(scope="module", params=grid(["sqlite", "postgres"], by_default=["postgres"]))
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Two threads over SQLite, which one process has open; two workers over PostgreSQL."""
    folder: Path = tmp_path_factory.mktemp("revocation")
    if request.param == "sqlite":
        settings = replace(prepared_at(folder, time.time()), port=free_port())
    else:
        store = postgres_server.empty()
        settings = replace(prepared_at(folder, time.time(), store), workers=2, port=free_port())
    with running(settings) as started:
        yield started
    if settings.shared:
        postgres_server.drop(settings.store)


def statuses(server: Server, path: str, headers: dict[str, str]) -> set[int]:
    return {answer.status_code for answer in answers(server, path, headers)}


def answers(server: Server, path: str, headers: dict[str, str]) -> list[httpx.Response]:
    address = server.address + path
    return [
        httpx.get(address, headers=headers, trust_env=False, timeout=PATIENCE, verify=NO_TLS)
        for _ in range(ASKED)
    ]


def test_a_token_works_everywhere_at_once_and_nowhere_once_it_is_revoked(server: Server) -> None:
    with remote(server.address, server.token, trust_env=False) as admin:
        made = admin.make_token("admin", "short").document
        headers = {"Authorization": f"Bearer {made.token}"}
        assert statuses(server, "/v1/tokens", headers) == {200}
        admin.revoke_token(made.id)
    assert statuses(server, "/v1/tokens", headers) == {401}


def test_the_printed_link_works_once_and_its_session_ends_everywhere(
    server: Server,
) -> None:
    assert server.link is not None
    address = f"/sign-in?link={server.link}"
    with httpx.Client(
        base_url=server.address, trust_env=False, timeout=PATIENCE, verify=NO_TLS
    ) as browser:
        token = FORM_TOKEN.search(browser.get(address).text)
        assert token is not None
        form = {"csrf_token": token[1], "link": server.link}
        assert browser.post("/sign-in", data=form).status_code == 303
        cookie = browser.cookies["deniable-session"]
    assert statuses(server, address, {}) == {410}
    assert known(server, cookie) == {True}
    with remote(server.address, server.token, trust_env=False) as admin:
        [row] = admin.sessions().document.sessions
        assert row.via == "link"
        admin.end_session(row.id)
    assert known(server, cookie) == {False}


def known(server: Server, cookie: str) -> set[bool]:
    """Whether pages accept the cookie as a session's; without one the form sets one."""
    headers = {"Cookie": f"deniable-session={cookie}"}
    pages = answers(server, "/sign-in", headers)
    return {"deniable-form" not in page.cookies for page in pages}
