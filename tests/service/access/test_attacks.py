"""What an attacker tries: a stolen database, forged headers and log lines, paths that climb out."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from deniable_aggregator.access import users
from deniable_shared.wire.report import MEDIA_TYPE, encode_upload
from support.builders.api_world import World, authored, opened
from support.doubles.browser import PASSWORD, Browser

ADDRESS = "203.0.113.77"
CLIMBS = [
    *("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/....//app.py"),
    *("/static/..\\app.py", "/static/%5c..%5capp.py", "/static/%00", "/static//etc/passwd"),
    *("/../../etc/passwd", "/v1/../deniable.toml", "/sign-in/../static/../../settings.py"),
    "/v1/collections/..%2f..%2fetc%2fpasswd/manifest",
]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(users, "LOG2_N", 4)
    with opened(tmp_path) as service:
        yield service


@pytest.mark.slow
def test_a_stolen_database_has_no_secret_no_address_and_no_answer(
    service: World,
) -> None:
    collection = service.register(authored())
    bits = {"dark_mode": True, "beta": False}
    reports = [service.report(collection, bits) for _ in range(5)]
    for report in reports:
        path = f"/v1/collections/{collection.id}/reports"
        answer = service.client.post(
            path,
            data=encode_upload([report]),
            content_type=MEDIA_TYPE,
            environ_base={"REMOTE_ADDR": ADDRESS},
        )
        assert (answer.status_code, answer.data) == (200, b"")
    service.running.users.add("ana", "admin", PASSWORD, audit=None)
    browser = Browser.at(service.app)
    browser.client.environ_base["REMOTE_ADDR"] = ADDRESS
    browser.sign_in("ana", "wrong" * 4)
    browser.sign_in("ana")
    link = service.running.sessions.make_link("x", audit=None)
    service.running.tick()
    folder = service.running.settings.data
    stolen = b"".join(path.read_bytes() for path in folder.glob("deniable.db*"))
    assert b"ana" in stolen
    tokens = [token.removeprefix("dn_") for token in service.tokens.values()]
    secrets = [*tokens, str(browser.cookie()), link, PASSWORD, ADDRESS, ADDRESS[:9]]
    assert not [secret for secret in secrets if secret.encode() in stolen]
    assert not [1 for report in reports if report.sealed[-16:] in stolen]


@pytest.mark.slow
def test_no_path_climbs_out(service: World) -> None:
    for path in CLIMBS:
        answer = service.get(path, "admin")
        assert answer.status_code in (303, 308, 404), path
        assert "import" not in answer.text, path
        assert "root:" not in answer.text, path


HOSTILE = "x\r\nSet-Cookie: evil=1\r\n\r\n<script>\x1b[31m"


@pytest.mark.slow
def test_nothing_that_is_sent_becomes_a_header_or_markup_or_a_log_line(
    service: World, caplog: pytest.LogCaptureFixture
) -> None:
    for method, path in (
        ("GET", "/sign-in?next={}"),
        ("GET", "/sign-in?link={}"),
        ("GET", "/{}"),
        ("GET", "/v1/collections/{}/manifest"),
        ("GET", "/v1/collections/settings/estimates?{}"),
        ("DELETE", "/v1/tokens/{}"),
        ("DELETE", "/v1/users/{}"),
        ("DELETE", "/v1/sessions/{}"),
        ("GET", "/sign-in/provider?next={}"),
        ("GET", "/sign-in/provider/done?state={}"),
    ):
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            answer = service.send(method, path.format(quote(HOSTILE, safe="")))
        assert answer.status_code in (200, 400, 404, 410), path
        assert "evil" not in str(answer.headers.getlist("Set-Cookie")), path
        lines = [value for value in answer.headers.values() if "\n" in value or "\r" in value]
        assert not lines, path
        assert answer.mimetype != "text/html" or "<script>" not in answer.text, path
        logged = [record for record in caplog.records if re.search(r"[\r\n\x1b]", record.message)]
        assert not logged, path


@pytest.mark.parametrize("header", ["Authorization", "Cookie", "Sec-Fetch-Site", "X-CSRF-Token"])
def test_no_header_breaks_a_page_or_the_api(service: World, header: str) -> None:
    values = ["x" * 20_000, "\xff\xfe", "a=b;" * 500, "Bearer \x00"]
    requests = [("GET", "/sign-in"), ("POST", "/sign-in"), ("GET", "/v1/tokens")]
    for value, (method, path) in product(values, requests):
        answer = service.client.open(path, method=method, headers={header: value})
        assert answer.status_code in (200, 401, 403), (value[:9], method, path)


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31m", "x" * 65, ""])
def test_names_that_would_forge_a_line_are_refused(service: World, name: str) -> None:
    before = service.digest()
    for path, body in (
        ("/v1/tokens", {"role": "viewer", "label": name}),
        ("/v1/users", {"name": name, "role": "viewer", "password": PASSWORD}),
        ("/v1/sign-in-links", {"name": name}),
    ):
        assert service.send("POST", path, json=body).status_code == 400
    assert service.digest() == before
