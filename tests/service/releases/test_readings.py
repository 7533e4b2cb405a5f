"""Numbers, records and texts the whole way: price, release, page, files, ledger, command."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.authoring.linter import lint
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.context import context_of
from deniable_aggregator.releases.kinds import error_simulation
from deniable_aggregator.releases.request import request_terms
from deniable_aggregator.web.dashboard.release_questions import questions_of, unavailable
from support.builders.api_world import TODAY, World, opened
from support.builders.reading_worlds import ANSWERS, DOMAIN_OF, reading_manifest
from support.oracles.read_surfaces import by_command
from support.tiers import grid

PATH = "/v1/collections/{}/releases"
CLOSED = TODAY - 4
REQUESTS: dict[str, list[dict[str, object]]] = {
    "mean": [{"mechanism": "mean"}],
    "labels": [
        {"mechanism": "mean"},
        {"mechanism": "shares", "ranges": "2"},
        {"mechanism": "histogram"},
        {"mechanism": "exponential", "score": "quantile"},
        {"mechanism": "noisy-max"},
        {"mechanism": "price", "highest": "20", "lowest": "2.5"},
        {"mechanism": "top-k", "k": 2},
        {"mechanism": "median", "delta": "1e-6"},
    ],
    "ranges": [
        {"mechanism": "mean"},
        {"mechanism": "shares", "ranges": "0..5, 10..20"},
        {"mechanism": "exponential", "score": "quantile"},
        {"mechanism": "median", "delta": "1e-6"},
    ],
    "tables": [
        {"mechanism": "table", "attributes": "os, browser"},
        {"mechanism": "mwem", "workload": "tables"},
        {"mechanism": "small-db", "workload": "tables", "alpha": "0.5"},
        {"mechanism": "queries", "questions": 3},
        {"mechanism": "table", "attributes": "os, browser", "cell": "mac, chrome"},
    ],
    "texts": [
        {"mechanism": "texts", "texts": "ab, c"},
        {"mechanism": "top-k", "k": 1, "texts": "ab, c"},
    ],
}
QUESTIONS = {
    "mean": ["average"],
    "ranges": ["average", "ranges", "median"],
    "tables": ["table", "cell", "session"],
    "texts": ["texts", "top-texts"],
}


def told(mechanism: str) -> str:
    if mechanism in ("optimal-mean/1", "duchi/1"):
        return "mean"
    if mechanism in ("dbitflip/1", "loloha/1"):
        return "labels"
    return {"number": "ranges", "record": "tables", "text": "texts"}[DOMAIN_OF[mechanism]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(error_simulation, "MOST_RUNS", error_simulation.FEWEST_RUNS)
    with opened(tmp_path) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    grid(
        sorted(DOMAIN_OF),
        by_default=["duchi/1", "haar/1", "pairs/1", "hcms/1", "loloha/1"],
    ),
)
def test_each_is_priced_made_shown_charged_and_made_again(
    world: World, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    collection = world.register(reading_manifest(mechanism))
    world.count(collection, ANSWERS[DOMAIN_OF[mechanism]] * 50, epoch=CLOSED)
    for body in REQUESTS[told(mechanism)]:
        request = {**body, "epsilon": "0.5"}
        priced = world.send(
            "POST", PATH.format(collection.id), "analyst", json={**request, "cost": True}
        )
        assert priced.status_code == 200, priced.text
        assert priced.get_json()["guarantee"]["epsilon"] == "0.5"
        made = world.send("POST", PATH.format(collection.id), "analyst", json=request)
        assert made.status_code == 201, made.text
        document = made.get_json()
        assert [bar["quantity"] for bar in document["error_bars"]]
        repeated = world.send("POST", PATH.format(collection.id), "analyst", json=request)
        assert (repeated.status_code, repeated.get_json()["release"]) == (200, document["release"])
        page = f"/collections/{collection.id}/releases/{document['release']}"
        shown = world.page(page)
        assert shown.status_code == 200, shown.text
        for table in ("estimates", "quantities"):
            if table in document["result"]:
                answer = world.page(f"{page}?format=csv&table={table}")
                rows = answer.text.splitlines()
                assert len(rows) == 1 + len(document["result"][table])
        words = ["releases", "show", collection.id, document["release"]]
        assert by_command(world, monkeypatch, words).text
    charges = world.running.store.charges(collection.id)
    assert {row.epsilon for row in charges} == {"1/2"}
    facts = context_of(world.running.store, collection, (CLOSED,))
    for row in charges:  # what was kept of it is enough to make it again
        terms = json.loads(row.terms)
        again = kinds.prepare(terms["mechanism"], terms["parameters"], facts)
        assert request_terms(again) == row.terms


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", grid(sorted(DOMAIN_OF), by_default=["duchi/1", "tree/1", "pairs/1", "cms/1"])
)
def test_the_page_asks_what_the_reports_can_tell(world: World, mechanism: str) -> None:
    collection = world.register(reading_manifest(mechanism))
    world.count(collection, ANSWERS[DOMAIN_OF[mechanism]] * 50, epoch=CLOSED)
    assert unavailable(collection) == ""
    names = [question.name for question in questions_of(collection)]
    if told(mechanism) != "labels":
        assert names == QUESTIONS[told(mechanism)]
    page = world.page(f"/collections/{collection.id}/releases", "analyst")
    assert f'name="question" value="{names[0]}" checked' in page.text
    asked = {
        "average": "question=average",
        "ranges": "question=ranges&ranges=2",
        "table": "question=table&attributes=os,browser",
        "texts": "question=texts&texts=ab,c",
    }
    query = asked[names[0] if names[0] in asked else "average"]
    priced = world.page(
        f"/collections/{collection.id}/releases?cost=true&epsilon=0.5&{query}", "analyst"
    )
    assert "The price is ε = 0.5" in html.unescape(priced.text)


@pytest.mark.slow
def test_a_quantity_has_its_name_then_its_value_then_its_limits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = world.register(reading_manifest("haar/1"))
    world.count(collection, ANSWERS["number"] * 50, epoch=CLOSED)
    body = {"mechanism": "mean", "epsilon": "0.5"}
    made = world.send("POST", PATH.format(collection.id), "analyst", json=body).get_json()
    page = world.page(f"/collections/{collection.id}/releases/{made['release']}").text
    words = ["releases", "show", collection.id, made["release"]]
    printed = by_command(world, monkeypatch, words).text
    for text, names in (
        (page, ("Quantity</th>", "Value</th>", "Least</th>", "Most</th>", "Error</th>")),
        (printed, ("quantity", "value", "least", "most", "error")),
    ):
        table = text[text.index(names[0]) :]
        places = [table.index(name) for name in names]
        assert places == sorted(places)


@pytest.mark.slow
def test_answers_are_sentences(world: World) -> None:
    said = {}
    for mechanism in ("optimal-mean/1", "haar/1", "pairs/1", "hcms/1"):
        collection = world.register(reading_manifest(mechanism))
        world.count(collection, ANSWERS[DOMAIN_OF[mechanism]] * 50, epoch=CLOSED)
        body = {**REQUESTS[told(mechanism)][-1 if mechanism == "pairs/1" else 0], "epsilon": "9"}
        made = world.send("POST", PATH.format(collection.id), "analyst", json=body).get_json()
        page = world.page(f"/collections/{collection.id}/releases/{made['release']}")
        said[mechanism] = html.unescape(page.text)
    assert "The average: " in said["optimal-mean/1"]
    assert "The average: " in said["haar/1"]
    assert "os=mac, browser=chrome, " in said["pairs/1"]
    assert "Most common: " in said["hcms/1"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", grid(["pairs/1", "fourier/1"], by_default=["pairs/1"]))
def test_a_session_over_tables_is_asked_for_cells_everywhere(
    world: World, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    collection = world.register(reading_manifest(mechanism))
    world.count(collection, ANSWERS["record"] * 50, epoch=CLOSED)
    path = PATH.format(collection.id)
    body = {"mechanism": "queries", "questions": 3, "epsilon": "9"}
    release = world.send("POST", path, "analyst", json=body).get_json()["release"]
    asked = {"cells": ["os=mac, browser=chrome"]}
    first = world.send("POST", f"{path}/{release}/questions", "analyst", json=asked).get_json()
    assert first["result"]["cells"] == ["os=mac, browser=chrome"]
    words = ["releases", "ask", collection.id, release, "--cells", "browser=chrome,os=mac"]
    said = by_command(world, monkeypatch, [*words, "--json"])
    assert json.loads(said.text)["result"] == first["result"]
    page = f"/collections/{collection.id}/releases/{release}"
    shown = world.page(page, "analyst").text
    assert "--cells" in shown
    assert 'name="label" value="os=mac, browser=chrome"' in shown
    wrong = world.send("POST", f"{path}/{release}/questions", "analyst", json={"cells": ["os=x"]})
    assert wrong.status_code == 400
    assert "os=linux" in wrong.get_json()["detail"]


@pytest.mark.parametrize("mechanism", sorted(DOMAIN_OF))
def test_the_linter_has_nothing_against_reading_releases_alone(mechanism: str) -> None:
    manifest = reading_manifest(mechanism, read="releases", min_batch=100)
    messages = [each.message for each in lint(manifest, now=1.79e9)]
    assert not any("no release reads" in message for message in messages)
