"""What the Grafana dashboard asks is answered: addresses by a server, queries by both stores.

Grafana itself runs nowhere here: what it would put in place of its variables is put there by hand.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml

from deniable_aggregator.store.opening import open_read_only
from support.builders.databases import KINDS
from support.processes import postgres_server
from support.processes.published_service import DAYS, Published, published
from support.tiers import grid

GRAFANA = Path(__file__).parents[2] / "deploy" / "grafana"
DASHBOARD = json.loads((GRAFANA / "dashboards" / "deniable.json").read_text())
SOURCES = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "deniable.yml").read_text())
TARGETS = [(panel["title"], target) for panel in DASHBOARD["panels"] for target in panel["targets"]]
HTTP = [(title, target) for title, target in TARGETS if "url" in target]
SQL = [(title, target["rawSql"]) for title, target in TARGETS if "rawSql" in target]
SQL += [(each["name"], each["query"]["rawSql"]) for each in DASHBOARD["templating"]["list"]]
CHOSEN = {"collection": "theme", "label": "high contrast"}


@pytest.fixture(scope="module", params=grid(KINDS, by_default=["sqlite"]))
def published_service(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Published]:
    store = "" if request.param == "sqlite" else postgres_server.empty()
    with published(tmp_path_factory.mktemp("grafana"), store) as published_service:
        yield published_service
    if store:
        postgres_server.drop(store)


def interpolated(text: str) -> str:
    """As Grafana writes it for the last 30 days; nothing of its own is left over."""
    now = time.time()
    for name, moment in (("__from", now - 30 * 86_400), ("__to", now)):
        text = text.replace(f"${{{name}}}", str(int(moment * 1000)))
        iso = f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S.000Z}"
        text = text.replace(f"${{{name}:date:iso}}", iso)
    for name, value in CHOSEN.items():
        text = text.replace(f"${{{name}:percentencode}}", quote(value, safe=""))
        text = text.replace(f"${{{name}:sqlstring}}", "'" + value.replace("'", "''") + "'")
    assert "$" not in text
    return text


@pytest.mark.processes
@pytest.mark.parametrize(("title", "target"), HTTP, ids=[title for title, _ in HTTP])
def test_every_address_answers_rows_with_every_column(
    published_service: Published, title: str, target: dict[str, Any]
) -> None:
    headers = {"Authorization": f"Bearer {published_service.token}"}
    answer = httpx.get(
        published_service.url + interpolated(target["url"]),
        headers=headers,
        timeout=120,
        trust_env=False,
    )
    assert answer.status_code == 200, answer.text
    rows = answer.json()[target["root_selector"]]
    assert len(rows) >= 4
    for row in rows:
        assert {column["selector"] for column in target["columns"]} <= row.keys()


@pytest.mark.processes
@pytest.mark.parametrize(("title", "query"), SQL, ids=[title for title, _ in SQL])
def test_every_query_finds_rows(published_service: Published, title: str, query: str) -> None:
    with open_read_only(published_service.settings) as db:
        assert db.execute(interpolated(query)).fetchall() != []


@pytest.mark.processes
def test_both_ways_show_the_same_figures(published_service: Published) -> None:
    headers = {"Authorization": f"Bearer {published_service.token}"}
    path = interpolated(HTTP[0][1]["url"])
    rows = httpx.get(
        published_service.url + path, headers=headers, timeout=120, trust_env=False
    ).json()["rows"]
    with open_read_only(published_service.settings) as db:
        actual = db.execute(
            "select frequency, lower, upper from v_estimate "
            "where name = 'theme' and label = 'high contrast' order by epoch"
        ).fetchall()
    assert [(row["frequency"], row["lower"], row["upper"]) for row in rows] == list(
        map(tuple, actual)
    )
    assert len(rows) == DAYS


def test_targets_name_provisioned_sources_and_hold_no_secret() -> None:
    sources = {(source["uid"], source["type"]) for source in SOURCES["datasources"]}
    named = {(t["datasource"]["uid"], t["datasource"]["type"]) for _, t in TARGETS}
    assert named == sources
    for source in SOURCES["datasources"]:
        assert all(re.fullmatch(r"\$[A-Z_]+", each) for each in source["secureJsonData"].values())


def test_a_query_reads_the_same_for_either_plug_in() -> None:
    for _, target in TARGETS:
        if "rawSql" in target:
            assert target["rawSql"] == target["queryText"] == target["rawQueryText"]
            assert not re.search(r"\$__time|::", target["rawSql"])


def test_panels_explain_themselves_and_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["description"]
        box = panel["gridPos"]
        own = {
            (x, y)
            for x in range(box["x"], box["x"] + box["w"])
            for y in range(box["y"], box["y"] + box["h"])
        }
        assert not own & cells
        assert box["x"] + box["w"] <= 24
        cells |= own
