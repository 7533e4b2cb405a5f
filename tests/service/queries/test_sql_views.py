"""The SQL views say what the API says, to the last digit, and nothing that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries import sql_views
from deniable_aggregator.store.opening import open_read_only
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.store.rows import EpochView
from deniable_central.guarantee import at_most
from deniable_gateway.clock.watch import SETTLING_SECONDS
from deniable_shared.manifest.model import Manifest
from support.builders.api_world import DAY, TODAY, World, authored, opened
from support.builders.databases import KINDS, Database
from support.builders.ledgers import admitted, charge_row
from support.processes import postgres_server
from support.tiers import grid

ROOT = Path(__file__).parents[3]
VIEWS_PAGE = (ROOT / "docs" / "reference" / "sql-views.md").read_text("utf-8")
HOW_TO = ROOT / "docs" / "how-to"
VIEWS = ("v_estimate", "v_ingest", "v_rejection", "v_ledger")
BITS = {"dark_mode": True, "beta": False}
BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'
ESTIMATE = ("label", "frequency", "std_error", "lower", "upper", "count")

BOTH = pytest.mark.parametrize("service", KINDS, indirect=True)
"""Of what views compute themselves, each database in its own words."""


@pytest.fixture(params=grid(KINDS, by_default=["sqlite"]))
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path, kind=request.param) as service:
        yield service


def view(service: World, name: str, collection: Collection) -> list[dict[str, Any]]:
    """The rows of one collection, read next to the service."""
    with open_read_only(service.running.settings) as db:
        columns = columns_of(db, service, name)
        rows = db.execute(f"select * from {name}").fetchall()  # noqa: S608  (the names in it are fixed)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return [row for row in found if row["collection"] == collection.id]


COLUMNS = {
    False: "select name from pragma_table_info(?) order by cid",
    True: "select column_name::text from information_schema.columns "
    "where table_name = ? order by ordinal_position",
}


def columns_of(db: Any, service: World, name: str) -> list[str]:
    """The columns of a view, in their order."""
    return [column for (column,) in db.execute(COLUMNS[service.running.settings.shared], (name,))]


def cells(row: dict[str, Any]) -> list[object]:
    return [row[name] for name in ESTIMATE]


def over(service: World) -> None:
    """Every epoch up to today is closed, and the housekeeping has come round."""
    service.clock.now += 10 * DAY
    service.running.tick()


def moment(value: object) -> int | None:
    """Seconds, of a text or a timestamp."""
    if value is None:
        return None
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return int(found.timestamp())


def shown_epochs(service: World, collection: Collection) -> set[int]:
    return {row["epoch"] for row in view(service, "v_estimate", collection)}


KINDS_OF_ANSWERS: list[tuple[Manifest, Sequence[object]]] = [
    (authored("bits"), [BITS] * 4 + [{"dark_mode": False, "beta": False}] * 3),
    (authored("choice", type="choice", labels=("a", "b, c", "ä'")), ["a"] * 5 + ["b, c"] * 4),
    (
        authored("hada", type="choice", labels="abcdefgh", more='mechanism = "hadamard/1"\n'),
        ["a"] * 9,
    ),
    (authored("closed", read="closed"), [BITS] * 6),
    (authored("kept", more='repeat = "memoized"\n'), [BITS] * 5),
]


@dataclass(frozen=True)
class Filled:
    """A service whose epochs are over: `KINDS_OF_ANSWERS`, one hidden, one with two releases."""

    service: World
    hidden: Collection
    released: Collection


@pytest.fixture(scope="module", params=KINDS)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    """Tests only read it."""
    folder = tmp_path_factory.mktemp("views")
    with opened(folder, kind=request.param) as service:
        for manifest, values in KINDS_OF_ANSWERS:
            found = service.register(manifest)
            for epoch in (TODAY - 1, TODAY):
                service.count(found, values, epoch=epoch)
        hidden = service.register(authored("hidden", read="releases", more=BUDGET))
        service.count(hidden, [BITS] * 9)
        service.running.store.count_rejections(hidden.id, {"cannot-open": 3})
        released = service.register(authored(type="choice", labels=("a", "beta"), more=BUDGET))
        service.count(released, ["a"] * 5)
        service.running.store.count_rejections(released.id, {"cannot-open": 3, "too-early": 1})
        over(service)
        for epsilon in ("0.25", "0.125"):
            wanted = {"mechanism": "histogram", "epsilon": epsilon, "epochs": [TODAY]}
            path = f"/v1/collections/{released.id}/releases"
            assert service.send("POST", path, "analyst", json=wanted).status_code == 201
        yield Filled(service, hidden, released)


@pytest.mark.slow
def test_estimates_are_the_apis_to_the_last_digit(filled: Filled) -> None:
    for manifest, _ in KINDS_OF_ANSWERS:
        check_estimates(filled.service, filled.service.running.registry.get(manifest.collection))


def check_estimates(service: World, found: Collection) -> None:
    answer = service.get(f"/v1/collections/{found.id}/estimates?group_by=epoch").get_json()
    result = [
        (*document["epochs"], document["n"], document["confidence"], *cells(row))
        for document in answer["epochs"]
        for row in document["estimates"]
    ]
    rows = sorted(
        view(service, "v_estimate", found), key=lambda row: (row["epoch"], row["position"])
    )
    assert result == [(row["epoch"], row["n"], row["confidence"], *cells(row)) for row in rows]
    assert len(result) == 2 * len(found.manifest.domain.labels)
    assert {row["name"] for row in rows} == {found.manifest.name}
    assert [moment(row["starts"]) for row in rows] == [row["epoch"] * DAY for row in rows]
    assert [moment(row["ends"]) for row in rows] == [(row["epoch"] + 1) * DAY for row in rows]


@pytest.mark.slow
def test_where_only_releases_may_be_read_no_view_tells_of_reports(filled: Filled) -> None:
    for name in ("v_estimate", "v_ingest", "v_rejection"):
        assert view(filled.service, name, filled.hidden) == []


def test_rejections_are_the_apis(filled: Filled) -> None:
    service, found = filled.service, filled.released
    reply = service.get(f"/v1/collections/{found.id}/epochs").get_json()["rejections"]
    rows = view(service, "v_rejection", found)
    assert {row["reason"]: row["n"] for row in rows} == reply == {"cannot-open": 3, "too-early": 1}


def test_the_ledger_is_the_apis(filled: Filled) -> None:
    service, found = filled.service, filled.released
    reply = service.get(f"/v1/collections/{found.id}/releases").get_json()["releases"]
    rows = sorted(view(service, "v_ledger", found), key=lambda row: row["position"])
    for each, row in zip(reply, rows, strict=True):
        for name in ("release", "adjacency", "state"):
            assert row[name] == each[name]
        assert moment(row["charged"]) == each["created"]
        assert row["epochs"] == str(TODAY)
        for name in ("epsilon", "rho", "delta"):
            exact, shown = row[name], each["guarantee"][name]
            assert shown == at_most(Fraction(exact))
            assert row[f"{name}_value"] == pytest.approx(float(Fraction(exact)), rel=1e-12)


def test_nothing_is_shown_of_open_epochs_and_too_few_reports(service: World) -> None:
    found = service.register(authored(min_batch=5))
    service.count(found, [BITS] * 4, epoch=TODAY - 1)
    service.count(found, [BITS] * 5, epoch=TODAY)
    service.running.tick()
    assert shown_epochs(service, found) == set()
    over(service)
    assert shown_epochs(service, found) == {TODAY}


@pytest.mark.slow
@BOTH
def test_what_waits_for_the_roll_up_is_counted_as_the_api_counts_it(service: World) -> None:
    found = service.register(authored())
    service.running.tick()
    for epoch, reports in ((TODAY - 1, 2), (TODAY, 3)):
        service.count(found, [BITS] * reports, epoch=epoch)
    check_ingest(service, found)
    service.running.store.roll_up()
    service.count(found, [BITS])
    check_ingest(service, found)
    over(service)
    check_ingest(service, found)


def check_ingest(service: World, found: Collection) -> None:
    reply = service.get(f"/v1/collections/{found.id}/epochs").get_json()["epochs"]
    rows = sorted(view(service, "v_ingest", found), key=lambda row: row["epoch"])
    assert [
        (each["epoch"], each["start"], each["end"], each.get("n"), each["state"] == "closed")
        for each in reply
    ] == [
        (row["epoch"], moment(row["starts"]), moment(row["ends"]), row["n"], bool(row["closed"]))
        for row in rows
    ]


@BOTH
def test_of_a_closed_reading_only_closed_epochs_are_counted(service: World) -> None:
    found = service.register(authored(read="closed"))
    service.count(found, [BITS] * 4)
    service.running.tick()
    assert view(service, "v_ingest", found) == []
    over(service)
    assert [(row["epoch"], row["n"]) for row in view(service, "v_ingest", found)] == [(TODAY, 4)]


@BOTH
def test_what_is_deleted_is_shown_no_more(service: World) -> None:
    found = service.register(authored(more="retention_days = 20\n"))
    service.count(found, [BITS] * 4)
    over(service)
    assert shown_epochs(service, found) == {TODAY}
    service.clock.now += 30 * DAY
    service.running.tick()
    service.clock.now += SETTLING_SECONDS
    service.running.tick()
    assert shown_epochs(service, found) == set()
    [row] = view(service, "v_ingest", found)
    assert (row["n"], moment(row["expired"])) == (None, int(service.clock.now))


def test_a_new_version_of_the_manifest_shows_by_its_own_rules(service: World) -> None:
    first = service.register(authored(min_batch=4))
    service.count(first, [BITS] * 5)
    over(service)
    assert shown_epochs(service, first) == {TODAY}
    service.register(authored(min_batch=6, previous=first.manifest))
    service.running.tick()
    assert shown_epochs(service, first) == set()


def test_another_program_makes_every_estimate_again_and_the_same_one_none(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = service.register(authored())
    service.count(found, [BITS] * 4)
    over(service)
    made: list[int] = []
    original = sql_views._epoch_view

    def noted(store: Store, collection: Collection, epoch: int, maker: str) -> EpochView:
        made.append(epoch)
        return original(store, collection, epoch, maker)

    monkeypatch.setattr(sql_views, "_epoch_view", noted)
    service.running.tick()
    assert made == []
    monkeypatch.setattr(sql_views, "_version_tag", lambda version: f"9.9/{version}")
    service.running.tick()
    service.running.tick()
    assert made == [TODAY]


def test_many_epochs_are_made_some_in_each_round(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_views, "EPOCHS_AT_ONCE", 2)
    found = service.register(authored())
    for epoch in range(TODAY - 2, TODAY + 1):
        service.count(found, [BITS] * 4, epoch=epoch)
    over(service)
    assert len(shown_epochs(service, found)) == 2
    service.running.tick()
    assert len(shown_epochs(service, found)) == 3


def test_of_too_many_labels_and_of_texts_nothing_is_shown(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_views, "MOST_LABELS", 2)
    found = service.register(authored(type="choice", labels=("a", "b", "c")))
    service.count(found, ["a"] * 4)
    over(service)
    assert view(service, "v_estimate", found) == []
    assert [row["n"] for row in view(service, "v_ingest", found)] == [4]


EXACT = ["0", "1", "1/3", "7/2", f"{2**200 + 1}/{3**120}", f"{10**90 + 7}/{10**99 + 1}"]


def test_a_rational_of_the_ledger_is_a_number_good_to_12_digits(database: Database) -> None:
    store = database.open()
    for place, exact in enumerate(EXACT):
        store.charge(charge_row(place, exact), admitted, audit=None)
    store.close()
    rows = database.execute("select epsilon, epsilon_value, rho_value from v_ledger")
    shown = {str(text): (value, rho) for text, value, rho in rows}
    assert shown.keys() == {*EXACT}
    for text, (value, rho) in shown.items():
        assert (rho, value) == (None, pytest.approx(float(Fraction(text)), rel=1e-12))


@pytest.mark.slow
def test_a_program_that_reads_views_needs_no_right_to_any_table(tmp_path: Path) -> None:
    address = postgres_server.empty()
    with opened(tmp_path, store=address) as service:
        service.count(service.register(authored()), [BITS] * 4)
        over(service)
        with psycopg.connect(address) as connection:
            role, script = granted()
            for statement in script:
                connection.execute(statement.encode())
            connection.execute(f"set role {role}".encode())
            for name in VIEWS:
                connection.execute(f"select * from {name}".encode()).fetchall()  # noqa: S608  (the names in it are fixed)
            assert connection.execute(b"select * from v_estimate").fetchall() != []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(b"select * from shown_estimates")
            connection.rollback()
    postgres_server.drop(address)


def granted() -> tuple[str, list[str]]:
    """The role of the page, and what an administrator runs to make it."""
    [script] = [block for block in blocks(VIEWS_PAGE) if "grant" in block]
    [role] = re.findall(r"create role (\w+)", script)
    return role, [part for part in script.split(";") if part.strip()]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```", page, re.S | re.M)


def queries(tool: str) -> list[str]:
    """The queries of a tool's page; dbt's names the source in its own way."""
    page = (HOW_TO / f"{tool}.md").read_text("utf-8")
    return blocks(page.replace("{{ source('deniable', 'v_estimate') }}", "v_estimate"))


def test_the_bands_of_superset_are_the_intervals_of_the_api(service: World) -> None:
    found = service.register(authored())
    for epoch in (TODAY - 1, TODAY):
        service.count(found, [BITS] * 4, epoch=epoch)
    over(service)
    [query] = [each for each in queries("superset") if "share__yhat" in each]
    with open_read_only(service.running.settings) as db:
        rows = db.execute(query.strip().rstrip(";")).fetchall()
    reply = service.get(f"/v1/collections/{found.id}/series?label=beta").get_json()["rows"]
    assert [tuple(row[1:]) for row in rows] == [
        (row["n"], row["frequency"], row["lower"], row["upper"]) for row in reply
    ]
    assert [moment(row[0]) for row in rows] == [moment(row["time"]) for row in reply]


def test_every_query_shown_for_a_tool_runs_and_finds_rows(filled: Filled) -> None:
    shown = {tool: queries(tool) for tool in ("grafana", "metabase", "superset", "dbt")}
    assert all(shown.values())
    for tool, each in shown.items():
        for query in each:
            sql = query.replace("$__timeFilter(starts)", "starts is not null").strip().rstrip(";")
            with open_read_only(filled.service.running.settings) as db:
                assert db.execute(sql).fetchall() != [], (tool, query)


def test_every_view_and_each_of_its_columns_is_documented(filled: Filled) -> None:
    for name in VIEWS:
        [row] = [line for line in VIEWS_PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        with open_read_only(filled.service.running.settings) as db:
            columns = columns_of(db, filled.service, name)
        assert all(f"`{column}`" in row for column in columns), (name, columns)


def test_dbt_s_sources_are_the_views_and_their_columns(filled: Filled) -> None:
    text = (ROOT / "aggregator" / "service" / "docs" / "dbt" / "sources.yml").read_text()
    [source] = yaml.safe_load(text)["sources"]
    described = {
        table["name"]: [column["name"] for column in table["columns"]] for table in source["tables"]
    }
    with open_read_only(filled.service.running.settings) as db:
        views = {name: columns_of(db, filled.service, name) for name in VIEWS}
    assert described == views
