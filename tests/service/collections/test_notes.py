"""Notes on the time axis: by API, page and command, on the chart, and on no public page."""

from __future__ import annotations

import csv
import io
import json

import pytest

from deniable_aggregator.collections import notes
from deniable_aggregator.collections.registry import Collection
from deniable_shared.manifest.epochs import epoch_start
from support.builders.api_world import DAY, TODAY, World, authored
from support.doubles.browser import Browser
from support.oracles.read_surfaces import by_command

ANSWER = {"dark_mode": True, "beta": True}


@pytest.fixture
def noted(service: World) -> Collection:
    collection = service.register(authored("settings", more="public = true\n"))
    for epoch in (TODAY - 2, TODAY - 1, TODAY):
        service.count(collection, [ANSWER] * 20, epoch=epoch)
        service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    return collection


def day(epoch: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(epoch_start(epoch, DAY), UTC).date().isoformat()


def add(service: World, role: str = "analyst", **body: object) -> tuple[int, dict[str, str]]:
    given = {"day": day(TODAY - 1), "text": "released 2.0", **body}
    answer = service.send("POST", "/v1/collections/settings/notes", role, json=given)
    document = answer.get_json()
    assert isinstance(document, dict)
    return answer.status_code, document


def test_a_note_is_listed_until_it_is_removed(service: World, noted: Collection) -> None:
    _, later = add(service, day=f"{day(TODAY)} 14:30", text="a sale")
    status, note = add(service)
    assert (status, note["text"], note["author"]) == (201, "released 2.0", "analyst")
    path = f"/v1/collections/{noted.id}/notes"
    listed = service.get(path, "viewer").get_json()["notes"]
    assert [each["id"] for each in listed] == [note["id"], later["id"]]
    assert listed[1]["at"] == epoch_start(TODAY, DAY) + 14 * 3_600 + 1_800
    assert service.send("DELETE", f"{path}/{note['id']}", "analyst").status_code == 204
    assert service.send("DELETE", f"{path}/{note['id']}", "analyst").status_code == 404
    assert len(service.get(path, "viewer").get_json()["notes"]) == 1
    acts = [each["act"] for each in service.get("/v1/audit", "admin").get_json()["entries"]]
    assert acts[-3:] == ["note-added", "note-added", "note-removed"]


@pytest.mark.parametrize(
    "body",
    [
        {"day": "2027-02-30"},
        {"day": "soon"},
        {"day": "1969-12-31"},
        {"text": ""},
        {"text": " "},
        {"text": "two\nlines"},
        {"text": "x" * 81},
    ],
)
def test_a_note_that_says_nothing_of_no_day_is_refused(
    service: World, noted: Collection, body: dict[str, str]
) -> None:
    status, problem = add(service, **body)
    assert status == 400
    assert problem["argument"] in body
    assert service.running.store.notes(noted.id) == []


def test_viewers_read_notes_and_write_none(service: World, noted: Collection) -> None:
    assert add(service, "viewer")[0] == 403


def test_a_collection_has_so_many_notes_and_no_more(
    service: World, noted: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MOST_NOTES", 1)
    assert add(service)[0] == 201
    assert add(service)[0] == 409


@pytest.mark.slow
def test_a_note_is_on_the_chart_and_in_its_table_and_on_no_public_page(
    service: World, noted: Collection
) -> None:
    add(service)
    add(service, day="2031-01-01", text="out of sight")
    page = service.page(f"/collections/{noted.id}", "viewer").text
    assert '"notes": [{"place": 1, "text": "released 2.0"}]' in page
    assert "<small>released 2.0</small>" in page
    assert "out of sight" not in page
    for path in ("/public/settings", "/embed/settings", "/public/settings?format=json"):
        assert "released 2.0" not in service.get(path, None).text


@pytest.mark.slow
def test_the_page_adds_and_removes_notes(service: World, noted: Collection) -> None:
    analyst = Browser.signed_in(service.app, service.running, "analyst")
    page = f"/collections/{noted.id}/share"
    fields = {"act": "note-added", "day": day(TODAY), "text": "<b>sale</b>"}
    assert analyst.post(page, **fields).status_code == 303
    assert "&lt;b&gt;sale&lt;/b&gt;" in analyst.client.get(page).text
    [note] = service.running.store.notes(noted.id)
    assert analyst.post(page, act="note-removed", id=note.id).status_code == 303
    assert service.running.store.notes(noted.id) == []
    wrong = analyst.post(page, act="note-added", day="soon", text="x")
    assert (wrong.status_code, "a day like" in wrong.text) == (400, True)


def test_commands_add_list_and_remove_notes(
    service: World, noted: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*words: str) -> str:
        answer = by_command(service, monkeypatch, ["collections", "notes", *words])
        assert answer.status == 0, answer.text
        return answer.text

    made = json.loads(ask("add", noted.id, day(TODAY), "a sale", "--json"))
    assert "a sale" in ask("list", noted.id)
    assert "Removed" in ask("remove", noted.id, made["id"])
    assert json.loads(ask("list", noted.id, "--json"))["notes"] == []


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_series_carries_the_note_of_each_epoch(service: World, noted: Collection) -> None:
    add(service, text="released 2.0")
    add(service, day=f"{day(TODAY - 1)} 14:30", text="a sale")
    path = f"/v1/collections/{noted.id}/series"
    expected = {TODAY - 1: "released 2.0; a sale"}
    for row in service.get(path).get_json()["rows"]:
        assert row.get("note") == expected.get(row["epoch"])
    table = service.get(path, Accept="text/csv").text
    assert table.partition("\r\n")[0].endswith(",provisional,note")
    assert len(rows_of(table)) == 6
    for line in rows_of(table):
        assert line["note"] == expected.get(int(line["epoch"]), "")


def test_the_file_of_the_chart_over_time_carries_notes(service: World, noted: Collection) -> None:
    add(service, text="=cmd()")
    reader = Browser.signed_in(service.app, service.running, "viewer")
    file = reader.client.get(f"/collections/{noted.id}?format=csv&by=epoch").text
    path = f"/v1/collections/{noted.id}/estimates?group_by=epoch"
    assert file == service.get(path, Accept="text/csv").text
    notes_by_epoch = {int(row["epoch"]): row["note"] for row in rows_of(file)}
    assert notes_by_epoch == {TODAY - 2: "", TODAY - 1: "'=cmd()", TODAY: ""}
    documents = service.get(path).get_json()["epochs"]
    assert [each.get("note") for each in documents] == [None, "=cmd()", None]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_public_files_by_epoch_have_no_note(service: World, noted: Collection, kind: str) -> None:
    add(service, text="a secret plan")
    assert "a secret plan" not in service.get(f"/public/settings?format={kind}&by=epoch", None).text
