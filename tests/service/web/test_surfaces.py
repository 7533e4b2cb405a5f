"""Every way to read, one by one: what `read` closes is closed on all of them.

The list of ways is checked against the OpenAPI document and the commands, so that a new one is
either in it or turns this red.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from deniable_aggregator.cli import main
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases.kinds import RELEASE_KINDS
from deniable_estimators.inference.manipulation import UNREACHABLE
from support.builders.api_world import TODAY, World, authored
from support.oracles.read_surfaces import COMMANDS, READING, Answer, everything

FIXED = {
    "/healthz",
    "/openapi.json",
    "/v1/collections/{collection}/manifest",
    "/v1/keys",
    "/v1/audit",
    "/v1/sessions",
    "/v1/tokens",
    "/v1/users",
    "/v1/collections/{collection}/alerts",
    "/v1/collections/{collection}/links",
    "/v1/collections/{collection}/notes",
}
"""Addresses that know no report."""
WAYS_IN = {"/shared", "/sign-in", "/sign-in/provider", "/sign-in/provider/done"}
OPERATORS = {"/metrics"}
"""Addresses that count reports for the operator, whom `read` hides nothing from."""
OTHER_COMMANDS = {
    *(("demo",), ("init",), ("serve",)),
    *(("doctor", verb) for verb in ("check", "verify-log", "confirm-clock")),
    *(
        ("collections", verb)
        for verb in ("new", "lint", "apply", "export", "close", "archive", "delete", "codegen")
    ),
    *(("keys", verb) for verb in ("list", "rotate", "delegate")),
    *(("keys", "vouchers", verb) for verb in ("show", "issue", "replace")),
    *(("access", "tokens", verb) for verb in ("new", "list", "revoke")),
    *(("access", "links", verb) for verb in ("new", "list", "end")),
    *(("access", "users", verb) for verb in ("add", "list", "remove", "link")),
    *(("access", "sessions", verb) for verb in ("list", "end")),
    ("access", "audit"),
    *(("collections", "alerts", verb) for verb in ("new", "list", "end")),
    *(("collections", "notes", verb) for verb in ("add", "list", "remove")),
    ("releases", "ask"),
    *(("releases", "make", kind) for kind in RELEASE_KINDS),
    *(("releases", "quote", kind) for kind in RELEASE_KINDS),
    ("collections", "epochs", "close"),
    ("ledger", "reconcile"),
    *(("store", verb) for verb in ("backup", "restore", "migrate")),
    ("plan",),
    *(("relay", verb) for verb in ("serve", "status")),
    *(("spool", verb) for verb in ("drain", "tally", "status")),
}
YES, NO = ({"dark_mode": value, "beta": value} for value in (True, False))
OFFERED = re.compile(r'<select id="mechanism".*?</select>', re.S)
"""The families that a page offers, one of which is about cohorts: the same for every collection."""


def of_estimates(answers: list[Answer]) -> list[Answer]:
    return [each for each in answers if "estimates" in each.where]


def filled(service: World, read: str, more: str = "") -> Collection:
    """20 reports yesterday, closed; 20 today, open."""
    collection = service.register(authored(read, read=read, more="public = true\n" + more))
    for epoch in (TODAY - 1, TODAY):
        service.count(collection, [YES] * 20, epoch=epoch)
    service.running.store.close_epoch(collection.id, TODAY - 1, service.clock(), audit=None)
    return collection


MORE = {
    "once": 'repeat = "once"\n',
    "fresh": 'repeat = "fresh"\n',
    "memoized": 'repeat = "memoized"\nlinkable = true\n',
}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_releases_show_nothing_that_depends_on_a_report(
    service: World, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    collection = filled(service, "releases", more)
    before = everything(service, collection, monkeypatch)
    service.count(collection, [NO] * 30, epoch=TODAY)
    service.count(collection, [NO] * 30, epoch=TODAY - 2)
    service.running.store.count_rejections(collection.id, {"cannot-open": 7})
    after = everything(service, collection, monkeypatch)
    assert after == before
    refused = of_estimates(after)
    assert {each.status for each in refused} == {403, 1}
    assert all("only central releases may be read" in each.text for each in refused)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_closed_shows_nothing_that_depends_on_a_report_of_an_open_epoch(
    service: World, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    collection = filled(service, "closed", more)
    before = everything(service, collection, monkeypatch)
    service.count(collection, [NO] * 30, epoch=TODAY)
    service.count(collection, [NO] * 30, epoch=TODAY - 2)
    assert everything(service, collection, monkeypatch) == before
    assert any(each.status == 200 for each in of_estimates(before))


def test_closed_has_one_answer_for_a_set_of_epochs_whatever_comes_later(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = filled(service, "closed")
    path = f"/v1/collections/{collection.id}/estimates?to={TODAY - 1}"
    before = service.get(path).data
    service.count(collection, [NO] * 30, epoch=TODAY - 1)
    service.count(collection, [NO] * 30, epoch=TODAY)
    service.running.store.close_epoch(collection.id, TODAY, service.clock(), audit=None)
    assert service.get(path).data == before
    assert f'"epochs":[{TODAY - 1}]'.encode() in before


@pytest.mark.deeper
@pytest.mark.slow
def test_live_reads_on_every_surface(service: World, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = filled(service, "live")
    before = everything(service, collection, monkeypatch)
    service.count(collection, [NO] * 30, epoch=TODAY)
    after = everything(service, collection, monkeypatch)
    changed = {each.where for each, was in zip(after, before, strict=True) if each != was}
    still = {each.where for each in of_estimates(after) if f"to={TODAY - 1}" in each.where}
    assert changed >= {each.where for each in of_estimates(after)} - still
    assert not changed & still


@pytest.mark.exhaustive
@pytest.mark.slow
def test_cohorts_show_on_no_surface(service: World, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = filled(service, "live", "cohorts = 64\n")
    for answer in everything(service, collection, monkeypatch):
        assert "cohort" not in OFFERED.sub("", answer.text)


def test_the_list_of_addresses_is_complete(service: World) -> None:
    paths = service.get("/openapi.json", None).get_json()["paths"]
    described = {path for path in paths if "get" in paths[path]}
    routes = {
        re.sub(r"<(?:path:)?(.*?)>", r"{\1}", rule.rule)
        for rule in service.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and rule.endpoint != "dashboard.static"
    }
    assert described <= routes
    assert routes == READING.keys() | FIXED | WAYS_IN | OPERATORS


def test_the_list_of_commands_is_complete() -> None:
    def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))
            else:
                yield (*path, name)

    assert set(commands(main)) == COMMANDS.keys() | OTHER_COMMANDS


def test_no_number_of_reports_stands_for_none_can() -> None:
    assert UNREACHABLE > 2**62
