"""All a real server logs while it is asked all there is, good and bad: nothing about anybody."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.process.serving import free_port, granian_arguments
from deniable_aggregator.web.app import create_app
from deniable_shared.wire.report import MEDIA_TYPE, Report, encode_upload
from support.builders.api_world import World, authored, opened

pytestmark = [pytest.mark.processes, pytest.mark.exhaustive]

READY_SECONDS = 90
FROM = "203.0.113.77"
"""An address that proxies and devices claim in headers."""


@dataclass
class Day:
    """What was asked, which secrets went over the wire, and every line that was logged."""

    asked: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)
    ports: set[int] = field(default_factory=set)
    output: str = ""


@dataclass
class Asker:
    """Sends requests as strangers do, with everything a log could betray."""

    port: int
    day: Day

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        media_type: str = "application/json",
    ) -> bytes:
        headers = {
            "X-Forwarded-For": FROM,
            "Forwarded": f"for={FROM}",
            "User-Agent": f"device/{FROM}",
            "Content-Type": media_type,
        }
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_SECONDS)
        try:
            connection.connect()
            self.day.ports.add(connection.sock.getsockname()[1])
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            key = method, path.partition("?")[0]
            self.day.asked.setdefault(key, []).append(answer.status)
            return answer.read()
        finally:
            connection.close()

    def upload(self, collection: str, body: bytes, token: str | None = None) -> bytes:
        path = f"/v1/collections/{collection}/reports"
        return self("POST", path, body, token, MEDIA_TYPE)


def lived(folder: Path) -> Day:
    found = Day()
    today = datetime.now(UTC).date()
    with opened(folder, now=time.time()) as world:
        begin, end = str(today - timedelta(9)), str(today + timedelta(99))
        collection = world.register(authored(valid_from=begin, expires=end))
        epoch = int(time.time()) // collection.manifest.epoch_seconds
        value = {"dark_mode": True, "beta": False}
        reports = [world.report(collection, value, epoch=epoch) for _ in range(4)]
        note(found, world, reports)
        addresses = list(templates(world))
        tokens = dict(world.tokens)
    settings = Settings(data=folder / "data", port=free_port())
    log = folder / "log"
    with log.open("wb") as file, served(settings, file):
        ask = Asker(settings.port, found)
        await_ready(ask)
        uploads(ask, collection.id, reports, tokens)
        everything(ask, addresses, collection.id, tokens, found)
        failing(ask, settings.database, collection.id, reports[3])
    found.output = log.read_text()
    return found


def note(day: Day, world: World, reports: list[Report]) -> None:
    """What no line may hold."""
    for number, report in enumerate(reports):
        day.secrets[f"id {number}"] = report.header.report_id
        day.secrets[f"sealed {number}"] = report.sealed
    for role, token in world.tokens.items():
        day.secrets[f"token {role}"] = token.encode()
    for path in (world.running.settings.data / "keys").glob("*.key"):
        day.secrets[path.name] = path.read_bytes().strip().rpartition(b":")[2]


def templates(world: World) -> Iterator[tuple[str, str]]:
    for rule in create_app(world.running).url_map.iter_rules():
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            yield method, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)


class served:  # noqa: N801  (a with-statement reads better so)
    """Granian with the arguments of `deniable serve --access-log`."""

    def __init__(self, settings: Settings, log: IO[bytes]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "granian", *granian_arguments(settings, access_log=True)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings.environ()},
        )

    def __enter__(self) -> None:
        """It was started when it was made."""

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(timeout=READY_SECONDS) == 0


def await_ready(ask: Asker) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if json.loads(ask("GET", "/readyz"))["status"] == "ready":
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server was not ready after {READY_SECONDS} s")


def uploads(ask: Asker, collection: str, reports: list[Report], tokens: dict[str, str]) -> None:
    """Good, repeated, several at once with every token, torn, made up, of another collection."""
    whole = encode_upload(reports[:1])
    for body in (whole, whole, encode_upload(reports[:3]), whole[:-9], b"\x00" * 50, b""):
        ask.upload(collection, body)
        ask.upload("nothing-000000", body)
    for token in tokens.values():
        ask.upload(collection, encode_upload(reports[1:3]), token)
    ask("POST", f"/v1/collections/{collection}/reports", whole, media_type="text/plain")


def everything(
    ask: Asker,
    addresses: list[tuple[str, str]],
    collection: str,
    tokens: dict[str, str],
    day: Day,
) -> None:
    """Every address with every kind of token, asked well and badly."""
    bodies = (None, b"{}", b'{"mechanism": "histogram"', b"\xff" * 40, secrets.token_bytes(200))
    for method, template in addresses:
        named = template.replace("{collection}", collection).replace("{epoch}", "1")
        path = re.sub(r"{\w+}", "0" * 16, named)
        for token in (None, *tokens.values(), "dn_" + "x" * 40):
            if (method, template) == ("POST", "/v1/collections/{collection}/close") and token:
                continue  # it would refuse all that follows
            for body in bodies if method in ("POST", "PUT") else (None,):
                ask(method, path, body, token)
            ask(method, f"{path}?who={FROM}&candidate=word", None, token)
    made = ask("POST", "/v1/tokens", b'{"role": "viewer", "label": "x"}', tokens["admin"])
    day.secrets["made token"] = json.loads(made)["token"].encode()


def failing(ask: Asker, database: Path, collection: str, report: Report) -> None:
    """The database refuses in the middle of a commit, and words of its refusal name the id."""
    words = report.header.report_id.hex()
    db = sqlite3.connect(database, isolation_level=None)
    db.execute(
        "create trigger broken before insert on seen "
        f"begin select raise(abort, 'no {words} here'); end"
    )
    ask.upload(collection, encode_upload([report]))
    db.execute("drop trigger broken")
    ask.upload(collection, encode_upload([report]))
    db.close()


def spellings(secret: bytes) -> Iterator[str]:
    """As a log might hold it."""
    yield secret.hex()
    yield repr(secret)[2:-1]
    yield base64.b64encode(secret).decode().rstrip("=")
    yield base64.urlsafe_b64encode(secret).decode().rstrip("=")


def check_that_all_was_asked_and_answered(day: Day) -> None:
    statuses = {status for found in day.asked.values() for status in found}
    assert {200, 400, 401, 403, 404, 415, 503} <= statuses
    assert len(day.asked) > 25
    assert 200 in day.asked["GET", "/metrics"]
    assert 500 not in statuses


def check_that_every_line_is_json(day: Day) -> None:
    lines = day.output.splitlines()
    assert len(lines) > 300
    assert all({"event", "level", "logger"} <= json.loads(line).keys() for line in lines)


def check_the_failed_commit(day: Day) -> None:
    [failed] = [each for each in map(json.loads, day.output.splitlines()) if "exception" in each]
    assert failed["event"] == "a commit of 1 reports failed"
    assert [each["type"] for each in failed["exception"]] == ["StoreError", "IntegrityError"]


def check_that_no_line_holds_an_address(day: Day) -> None:
    assert FROM not in day.output
    assert re.findall(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b", day.output) == []
    assert not [port for port in day.ports if re.search(rf"\b{port}\b", day.output)]


def check_that_no_line_holds_a_secret(day: Day) -> None:
    assert len(day.secrets) >= 15
    for name, secret in day.secrets.items():
        for part in (secret, secret[:16], secret[-16:]):
            assert not [text for text in spellings(part) if text in day.output], name


def check_that_no_line_holds_a_query(day: Day) -> None:
    assert "candidate" not in day.output
    assert "dn_" not in day.output


def test_no_line_says_anything_about_anybody(tmp_path: Path) -> None:
    """One test, so that no two processes of pytest live through such a day."""
    day = lived(tmp_path)
    check_that_all_was_asked_and_answered(day)
    check_that_every_line_is_json(day)
    check_the_failed_commit(day)
    check_that_no_line_holds_an_address(day)
    check_that_no_line_holds_a_secret(day)
    check_that_no_line_holds_a_query(day)
