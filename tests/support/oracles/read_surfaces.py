"""Every way to read a service, for every role, so that two services can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from werkzeug.test import TestResponse

from deniable_aggregator.cli import main
from deniable_aggregator.cli.options import Target
from deniable_aggregator.client.errors import ServiceError
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.query.rows import Rows
from deniable_aggregator.query.service import Service
from deniable_aggregator.web.application import ARROW, PARQUET
from deniable_aggregator.web.dashboard.pages import pages
from support.builders.api_world import TODAY, World
from support.tiers import by_tier

__all__ = [
    "COMMANDS",
    "FORMS",
    "NO_RELEASE",
    "READING",
    "ROLES",
    "Answer",
    "asked",
    "by_command",
    "by_notebook",
    "everything",
    "forms_of_release",
]

ROLES = ("viewer", "analyst", "admin")

ESTIMATES = "/v1/collections/{collection}/estimates"
PAGE_QUERIES = {
    "overview": ["", "?q=e&page=2", "?state=all&sort=reports"],
    "collection": [
        "",
        f"?from={TODAY}&label=beta",
        f"?to={TODAY - 1}&show=significant",
        "?show=projected&view=table",
        "?format=json",
        "?format=csv&by=epoch",
    ],
    "compare": [
        "",
        f"?before_from={TODAY - 2}&before_to={TODAY - 1}&from={TODAY}",
        "?family=each&view=table",
        *("?format=json", "?format=csv"),
    ],
    "ledger": ["", "?collection={collection}", "?format=json", "?format=csv"],
    "log": ["", "?verify=true"],
    "public": ["", f"?to={TODAY - 1}", "?format=json", "?format=json&by=epoch", "?format=csv"],
    "releases": ["", "?cost=true&epsilon=0.1", "?cost=true&mechanism=top-k&k=1&epsilon=0.1"],
}
"""Page → what it may be asked, where that is more than nothing."""
READING = {
    ESTIMATES: [
        "",
        "?group_by=epoch",
        f"?from={TODAY}",
        f"?to={TODAY - 1}",
        "?projection=clip",
        "?family=all&confidence=0.5",
        "?significant=holm&liars=0.01&projection=base-cut",
    ],
    "/v1/collections/{collection}/comparison": [
        f"?before_to={TODAY - 1}&from={TODAY}",
        f"?before_to={TODAY - 2}&from={TODAY - 1}&family=each",
    ],
    "/v1/collections/{collection}/epochs": [""],
    "/v1/collections/{collection}/series": ["", "?label=beta", f"?to={TODAY - 1}"],
    "/v1/collections/{collection}/releases": [""],
    "/v1/collections/{collection}/releases/{release_id}": [""],
    "/v1/collections": [""],
    "/v1/ledger": ["", "?collection={collection}"],
    "/v1/log": [""],
    "/readyz": [""],
    "/embed/{collection}": ["", "?theme=dark"],
    **{
        re.sub(r"<(.*?)>", r"{\1}", page.path): PAGE_QUERIES.get(name, [""])
        for name, page in pages().items()
    },
}
"""Addresses whose answer could depend on reports."""
NO_RELEASE = "0" * 16
FORMS = ("application/json", "text/csv", "*/*")
FEW_FORMS = by_tier(FORMS[-1:], FORMS)
"""The forms of pages, and of what analyst and administrator read.

A viewer reads the first queries of the API in every form.
"""
FIRST_QUERIES = by_tier(1, 99)
"""So many queries of an address are read by every role; the others by a viewer."""
PRICED = {"mechanism": "histogram", "epsilon": "0.1"}
"""A release whose price is asked for: what it says may depend on closed epochs' n at most."""
FORM_OPTIONS: list[list[str]] = [[], ["--json"], ["--csv"]]
COMMANDS = {
    ("estimates",): [
        *([], ["--json"], ["--csv"], ["--by-epoch"], ["--projection", "clip"]),
        *(
            ["--plot"],
            ["--plot", "--by-epoch"],
            ["--parquet", "-"],
            ["--arrow", "-"],
            ["--html", "-"],
        ),
    ],
    ("compare",): [
        *(["--before-to", f"{TODAY - 1}", "--from", f"{TODAY}", *form] for form in FORM_OPTIONS),
        ["--before-to", f"{TODAY - 2}", "--from", f"{TODAY - 1}", "--family", "each"],
    ],
    ("collections", "epochs", "list"): [[], ["--json"], ["--csv"]],
    ("collections", "list"): [[], ["--json"]],
    ("releases", "quote", "histogram"): [["--epsilon", "0.1"]],
    ("releases", "quote", "exponential"): [["--epsilon", "0.1", "--json"]],
    ("releases", "list"): [[], ["--json"], ["--csv"]],
    ("releases", "show"): [["{release_id}"]],
    ("ledger", "show"): [[], ["--json"], ["--csv"]],
}
"""Commands that read."""


@dataclass(frozen=True)
class Answer:
    """What one surface says."""

    where: str
    status: int
    text: str


def everything(
    world: World,
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    *,
    release: str = NO_RELEASE,
) -> list[Answer]:
    """Every surface, in every variant, for every role that may read."""
    actual = []
    for address, queries in READING.items():
        for place, query in enumerate(queries):
            for role in ROLES if place < FIRST_QUERIES else ROLES[:1]:
                path = addressed(address + query, collection, release)
                first = place < FIRST_QUERIES and path.startswith("/v1/")
                all_forms = first and role == "viewer"
                for accept in (*FORMS, ARROW, PARQUET) if all_forms else FEW_FORMS:
                    answer = asked(world, path, role, accept)
                    where = f"GET {path} {role} {accept}"
                    actual.append(Answer(where, answer.status_code, answer.data.decode("latin-1")))
    for role in ROLES:
        path = addressed("/v1/collections/{collection}/releases?cost=true", collection, release)
        answer = world.send("POST", path, role, json=PRICED)
        actual.append(Answer(f"POST {path} {role}", answer.status_code, answer.text))
    for words, variants in COMMANDS.items():
        name = [] if words == ("collections", "list") else [collection.id]
        for options in variants:
            given = [option.replace("{release_id}", release) for option in options]
            actual.append(by_command(world, monkeypatch, [*words, *name, *given]))
    return [*actual, *by_notebook(world, collection, release)]


def by_notebook(world: World, collection: Collection, release: str) -> Iterator[Answer]:
    """What each query of a notebook shows, or its error."""
    service = Service(connected(world))
    queries: dict[str, Callable[[], Rows | dict[str, Any]]] = {
        name: partial(getattr(service, name), collection.id)
        for name in ("epochs", "estimates", "ledger", "releases", "series")
    }
    queries["comparison"] = partial(
        service.comparison, collection.id, before=TODAY - 2, after=(TODAY - 1, None)
    )
    queries["release"] = partial(service.release, collection.id, release)
    for name, ask in queries.items():
        try:
            rows = ask()
        except ServiceError as error:
            yield Answer(f"notebook {name}", error.status, str(error))
        else:
            text = rows._repr_html_() + str(rows.about) if isinstance(rows, Rows) else str(rows)
            yield Answer(f"notebook {name}", 200, text)


def forms_of_release(
    world: World, monkeypatch: pytest.MonkeyPatch, collection: Collection, release: str
) -> Iterator[Answer]:
    """A release on its page, as JSON, each of its tables as CSV, by command and in a notebook."""
    page = f"/collections/{collection.id}/releases/{release}"
    result = world.get(f"/v1{page}", "viewer").get_json()["result"]
    tables = [name for name, value in result.items() if isinstance(value, list)]
    for form in ("", "?format=json", *(f"?format=csv&table={name}" for name in tables)):
        for address in (page + form, f"/v1{page}")[: 1 if form else 2]:
            answer = asked(world, address, "viewer", "*/*")
            yield Answer(address, answer.status_code, answer.text)
    yield by_command(world, monkeypatch, ["releases", "show", collection.id, release])
    yield Answer(
        f"notebook {release}", 200, str(Service(connected(world)).release(collection.id, release))
    )


def by_command(world: World, monkeypatch: pytest.MonkeyPatch, words: Sequence[str]) -> Answer:
    """A command of an administrator."""
    with monkeypatch.context() as patch:
        patch.setattr(Target, "connect", lambda target: connected(world))
        clock = SimpleNamespace(time=world.clock)
        patch.setattr("deniable_aggregator.cli.estimates.time", clock)  # a page says the minute
        result = CliRunner().invoke(main, [*words])
    return Answer(f"deniable {' '.join(words)}", result.exit_code, result.output)


def asked(world: World, path: str, role: str, accept: str) -> TestResponse:
    """By a token, of a page by a session."""
    ask = world.get if path.startswith("/v1/") else world.page
    return ask(path, role, Accept=accept)


def addressed(address: str, collection: Collection, release: str) -> str:
    return address.replace("{collection}", collection.id).replace("{release_id}", release)


def connected(world: World) -> ServiceClient:
    client = httpx.Client(
        base_url="http://deniable.test",
        headers=world.authorization("admin"),
        transport=httpx.WSGITransport(app=world.app.wsgi_app),
    )
    return ServiceClient(client, address="http://deniable.test")
