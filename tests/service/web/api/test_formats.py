"""CSV, Arrow and Parquet say what the JSON documents say, to the last digit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.web import columnar, table_rows
from deniable_aggregator.web.spreadsheet import Row
from support.builders.api_world import TODAY, World, authored, opened

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
LABELS = ("=cmd", "b, c", "ä'", "d")
BUDGET = 'central = { per_epoch = "1", per_installation = "1", delta = "0.00001" }\n'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("formats")) as service:
        yield service


@pytest.fixture(scope="module")
def collection(service: World) -> Collection:
    found = service.register(authored("themes", type="choice", labels=LABELS, more=BUDGET))
    for epoch in (TODAY - 1, TODAY):
        service.count(found, ["=cmd"] * 9 + ["d"] * 4, epoch=epoch)
    service.running.close_epoch(found, TODAY - 1, audit=None)
    wanted = {"mechanism": "histogram", "epsilon": "0.25", "epochs": [TODAY - 1]}
    path = f"/v1/collections/{found.id}/releases"
    assert service.send("POST", path, "analyst", json=wanted).status_code == 201
    return found


def table(service: World, path: str, kind: str, role: str = "viewer") -> Any:
    answer = service.get(path, role, Accept=kind)
    assert (answer.status_code, answer.mimetype) == (200, kind), answer.text
    if kind == PARQUET:
        return parquet.read_table(io.BytesIO(answer.data))
    return pa.ipc.open_stream(answer.data).read_all()


def lines(service: World, path: str, role: str = "viewer") -> list[dict[str, str]]:
    answer = service.get(path, role, Accept="text/csv")
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.mark.parametrize("kind", [ARROW, PARQUET])
@pytest.mark.parametrize("query", ["", "?projection=simplex&significant=holm&liars=0.01"])
def test_a_table_has_the_labels_and_digits_of_the_document(
    service: World, collection: Collection, kind: str, query: str
) -> None:
    path = f"/v1/collections/{collection.id}/estimates{query}"
    document = service.get(path).get_json()
    rows = table(service, path, kind).to_pylist()
    for row, result in zip(rows, document["estimates"], strict=True):
        assert {name: row[name] for name in result} == result
        assert (row["n"], row["provisional"]) == (document["n"], document["provisional"])


@pytest.mark.parametrize("kind", [ARROW, PARQUET])
def test_a_table_by_epoch_leads_with_the_epoch_and_says_what_it_is_of(
    service: World, collection: Collection, kind: str
) -> None:
    found = table(service, f"/v1/collections/{collection.id}/estimates?group_by=epoch", kind)
    assert found.column("epoch").to_pylist() == [TODAY - 1] * 4 + [TODAY] * 4
    assert found.schema.metadata[b"deniable.collection"].decode() == collection.id
    assert found.schema.metadata[b"deniable.epsilon"] == b"2"


def test_types_do_not_depend_on_what_is_unknown() -> None:
    rows: list[Row] = [{"label": "a", "frequency": None, "reports_to_leave_interval": None}]
    found = pa.ipc.open_stream(columnar.arrow_bytes(rows, (), {})).read_all()
    assert [str(kind) for kind in found.schema.types] == ["string", "double", "int64"]


@pytest.mark.parametrize(
    "columns",
    [
        *(
            table_rows.AUDIT_COLUMNS,
            table_rows.EPOCH_COLUMNS,
            table_rows.LEDGER_COLUMNS,
            table_rows.RELEASE_COLUMNS,
        ),
        *(table_rows.COMPARISON_COLUMNS, table_rows.SERIES_COLUMNS),
    ],
)
def test_every_column_has_a_type_and_a_table_without_rows_has_them_all(
    columns: tuple[str, ...],
) -> None:
    found = parquet.read_table(io.BytesIO(columnar.parquet_bytes([], columns, {})))
    assert tuple(found.column_names) == columns
    assert found.num_rows == 0


@pytest.mark.parametrize("kind", [ARROW, PARQUET, f"{PARQUET}, application/xml;q=0.1"])
def test_without_the_extra_the_answer_names_what_to_install(
    service: World, collection: Collection, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "find_spec", lambda name: None)
    answer = service.get(f"/v1/collections/{collection.id}/estimates", Accept=kind)
    assert answer.status_code == 406
    assert 'pip install "deniable-aggregator[arrow]"' in answer.get_json()["detail"]
    both = service.get(
        f"/v1/collections/{collection.id}/estimates", Accept=f"{kind}, text/csv;q=0.1"
    )
    assert both.mimetype == "text/csv"


def test_what_nobody_speaks_is_refused_with_what_is_spoken(
    service: World, collection: Collection
) -> None:
    for path in ("estimates", "epochs", "releases", "series"):
        answer = service.get(f"/v1/collections/{collection.id}/{path}", Accept="application/xml")
        assert answer.status_code == 406
        assert all(kind in answer.text for kind in (ARROW, PARQUET, "text/csv", "application/json"))


def test_epochs_are_rows(service: World, collection: Collection) -> None:
    path = f"/v1/collections/{collection.id}/epochs"
    reply = service.get(path).get_json()["epochs"]
    for row, each in zip(lines(service, path), reply, strict=True):
        written = {name: str(value).replace("False", "false") for name, value in each.items()}
        assert row == {**written, "fewer_than": ""}
    assert table(service, path, PARQUET).to_pylist() == [
        {**row, "fewer_than": None} for row in reply
    ]


def test_with_releases_only_small_epochs_have_a_bound_instead_of_n(
    service: World,
) -> None:
    found = service.register(authored("hidden", read="releases", more=BUDGET))
    for epoch, n in ((TODAY - 4, 9), (TODAY - 3, 2), (TODAY, 9)):
        service.count(found, [{"dark_mode": True, "beta": False}] * n, epoch=epoch)
    path = f"/v1/collections/{found.id}/epochs"
    rows = {int(row["epoch"]): (row["n"], row["fewer_than"]) for row in lines(service, path)}
    assert rows[TODAY - 4] == ("9", "")
    assert rows[TODAY - 3] == rows[TODAY - 5] == ("", "3")
    assert rows[TODAY] == ("", "")
    by_column = table(service, path, ARROW).to_pylist()
    assert {row["epoch"]: row["fewer_than"] for row in by_column}[TODAY - 3] == 3


def test_releases_are_rows_with_exact_costs(service: World, collection: Collection) -> None:
    path = f"/v1/collections/{collection.id}/releases"
    [result] = service.get(path).get_json()["releases"]
    [row] = lines(service, path)
    assert json.loads(row["parameters"]) == result["parameters"]
    assert row["epochs"] == str(TODAY - 1)
    for name in ("epsilon", "rho", "delta"):
        assert row[name] == result["guarantee"][name]
    assert table(service, path, ARROW).column("release").to_pylist() == [result["release"]]


def test_of_nothing_released_the_header_is_there(service: World) -> None:
    found = service.register(authored("quiet"))
    answer = service.get(f"/v1/collections/{found.id}/releases", Accept="text/csv")
    assert answer.text.strip() == ",".join(table_rows.RELEASE_COLUMNS)


def test_the_ledger_has_a_row_an_account(service: World, collection: Collection) -> None:
    path = f"/v1/ledger?collection={collection.id}"
    [result] = service.get(path).get_json()["collections"]
    epoch, others, installation = lines(service, path)
    [run] = result["epochs"]
    assert (epoch["first"], epoch["last"]) == (str(run["first"]), str(run["last"]))
    assert epoch["spent_epsilon"] == run["spent"]["epsilon"] == "0.25"
    assert epoch["left_epsilon"] == run["left"]["epsilon"]
    assert (others["account"], others["spent_epsilon"]) == ("every other epoch", "0")
    assert others["left_epsilon"] == result["per_epoch"]["epsilon"]
    assert installation["left_rho"] == result["installation"]["left"]["rho"]


def test_the_audit_log_goes_on_behind_the_link(service: World, collection: Collection) -> None:
    whole = service.get("/v1/audit", "admin").get_json()
    rows = lines(service, "/v1/audit", "admin")
    assert [row["head"] for row in rows] == [entry["head"] for entry in whole["entries"]]
    assert [json.loads(row["details"]) for row in rows] == [e["details"] for e in whole["entries"]]
    assert "Link" not in service.get("/v1/audit", "admin").headers


def test_a_page_of_the_audit_log_links_to_the_next(
    service: World, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = service.running.store
    monkeypatch.setattr(store, "audit", lambda first: type(store).audit(store, first)[:1])
    answer = service.get("/v1/audit", "admin", Accept="text/csv")
    assert answer.headers["Link"] == '</v1/audit?from=1>; rel="next"'


def test_a_label_stays_itself_in_a_table_and_is_no_formula_in_csv(
    service: World, collection: Collection
) -> None:
    path = f"/v1/collections/{collection.id}/estimates"
    assert table(service, path, ARROW).column("label").to_pylist() == list(LABELS)
    assert lines(service, path)[0]["label"] == "'=cmd"


@pytest.mark.parametrize("kind", [ARROW, PARQUET, "text/csv"])
@pytest.mark.parametrize("path", ["estimates", "series"])
def test_where_only_releases_may_be_read_no_form_is_given(
    tmp_path: Path, kind: str, path: str
) -> None:
    with opened(tmp_path) as service:
        found = service.register(authored(read="releases", more=BUDGET))
        service.count(found, [{"dark_mode": True, "beta": False}] * 9)
        answer = service.get(f"/v1/collections/{found.id}/{path}", Accept=kind)
    assert answer.status_code == 403
    assert "only central releases may be read" in answer.text
