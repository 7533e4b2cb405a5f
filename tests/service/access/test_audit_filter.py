"""One filter of the audit log for page, API and command: act, person, question, days."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from click.testing import CliRunner, Result

from deniable_aggregator.access.audit import ACTS
from deniable_aggregator.cli import main
from deniable_aggregator.cli.options import Target
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.queries import access
from deniable_aggregator.store import audit_log
from deniable_aggregator.web.dashboard.audit_words import ACT_WORDS
from support.builders.api_world import World, authored
from support.doubles.browser import Browser

DAY = 86_400
TODAY = "2027-01-15"
"""The day that the clock of the tests begins on."""

FILTERS = (
    {"act": "token-made"},
    {"who": "ADMIN (session"},
    {"collection": "settings"},
    {"first_day": "2027-01-16"},
    {"last_day": TODAY},
    {"act": "note-added", "who": "admin", "collection": "settings", "last_day": TODAY},
    {"act": "sign-out"},
)


@pytest.fixture
def admin(service: World) -> Browser:
    """Signed in, after acts of two people on two questions and two days."""
    service.register(authored())
    browser = Browser.signed_in(service.app, service.running, "admin")
    path = "/v1/collections/settings/notes"
    service.send("POST", path, json={"day": TODAY, "text": "released"})
    browser.post("/access", act="token-made", role="viewer", label="page")
    service.clock.now += DAY
    service.send("POST", "/v1/tokens", json={"role": "viewer", "label": "later"})
    service.send("POST", path, json={"day": TODAY, "text": "again"})
    return Browser.signed_in(service.app, service.running, "admin")


def by_api(service: World, wanted: dict[str, str]) -> list[int]:
    """The indices that the API answers."""
    answer = service.get(f"/v1/audit?{urlencode(wanted)}", "admin").get_json()
    return [entry["index"] for entry in answer["entries"]]


def expected(service: World, wanted: dict[str, str]) -> list[int]:
    """The same from the whole log."""
    names = ("settings", service.running.registry.get("settings").id)
    days = {TODAY: 0, "2027-01-16": 1}
    start = min(entry["at"] for entry in whole(service)) // DAY * DAY

    def fits(entry: dict[str, Any]) -> bool:
        day = (entry["at"] - start) // DAY
        return (
            wanted.get("act", entry["act"]) == entry["act"]
            and wanted.get("who", "").lower() in entry["actor"].lower()
            and ("collection" not in wanted or entry["details"].get("collection") in names)
            and days[wanted.get("first_day", TODAY)] <= day
            and day <= days[wanted.get("last_day", "2027-01-16")]
        )

    return [index for index, entry in enumerate(whole(service)) if fits(entry)]


def whole(service: World) -> list[dict[str, Any]]:
    entries = service.get("/v1/audit", "admin").get_json()["entries"]
    assert isinstance(entries, list)
    return entries


@pytest.mark.slow
@pytest.mark.usefixtures("admin")
def test_the_api_has_the_entries_that_fit(service: World) -> None:
    found = {str(wanted): by_api(service, wanted) for wanted in FILTERS}
    assert found == {str(wanted): expected(service, wanted) for wanted in FILTERS}
    assert [wanted for wanted, indices in found.items() if not indices] == ["{'act': 'sign-out'}"]


def test_every_act_has_words_for_people() -> None:
    assert set(ACT_WORDS) == set(ACTS)


@pytest.mark.slow
def test_the_page_and_its_csv_have_the_same_entries(service: World, admin: Browser) -> None:
    for wanted in FILTERS:
        address, indices = f"/audit?{urlencode(wanted)}", by_api(service, wanted)
        numbers = re.findall(r'<th scope="row">(\d+)</th>', admin.client.get(address).text)
        assert [int(number) - 1 for number in numbers] == indices[::-1], wanted
        file = admin.client.get(f"{address}&format=csv")
        assert file.headers["Content-Disposition"] == 'attachment; filename="audit.csv"'
        rows = list(csv.DictReader(io.StringIO(file.text)))
        assert [int(row["index"]) for row in rows] == indices, wanted
        answer = service.get(f"/v1/audit?{urlencode(wanted)}", "admin", Accept="text/csv")
        assert file.text == answer.text, wanted


def run(service: World, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """`deniable access audit` with the service of this test."""
    http = httpx.Client(
        base_url="http://deniable.test",
        headers=service.authorization("admin"),
        transport=httpx.WSGITransport(app=service.app.wsgi_app),
    )
    client = ServiceClient(http, address="http://deniable.test")
    monkeypatch.setattr(Target, "connect", lambda _: client)
    return CliRunner().invoke(main, ["access", "audit", *words])


@pytest.mark.slow
@pytest.mark.usefixtures("admin")
def test_the_command_has_the_same_entries(service: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"first_day": "--from", "last_day": "--to"}
    for wanted in FILTERS:
        pairs = [(names.get(name, f"--{name}"), text) for name, text in wanted.items()]
        words, indices = [word for pair in pairs for word in pair], by_api(service, wanted)
        entries = json.loads(run(service, monkeypatch, *words, "--json").stdout)["entries"]
        assert [entry["index"] for entry in entries] == indices, wanted
        printed = io.StringIO(run(service, monkeypatch, *words, "--csv").stdout)
        assert [int(row["index"]) for row in csv.DictReader(printed)] == indices, wanted


def test_pages_of_chosen_entries_follow_each_other(
    service: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = by_api(service, {"who": "admin"})
    monkeypatch.setattr(access, "AUDIT_PAGE", 2)
    monkeypatch.setattr(audit_log, "AUDIT_PAGE", 2)
    first, found = 0, []
    while first is not None:
        page = service.get(f"/v1/audit?who=admin&from={first}", "admin").get_json()
        found += [entry["index"] for entry in page["entries"]]
        assert len(page["entries"]) <= 2
        first = page["next"]
    assert found == every
    answer = service.get("/v1/audit?who=admin", "admin", Accept="text/csv")
    assert answer.headers["Link"] == f'</v1/audit?who=admin&from={every[2]}>; rel="next"'


def test_an_act_that_does_not_exist_is_refused_by_name(service: World, admin: Browser) -> None:
    answer = service.get("/v1/audit?act=token-mad", "admin")
    assert answer.status_code == 400
    assert "act must be one of alert-ended" in answer.get_json()["detail"]
    assert admin.client.get("/audit?act=token-mad").status_code == 400


@pytest.mark.slow
def test_a_day_that_is_none_is_marked_at_its_field(admin: Browser) -> None:
    answer = admin.client.get("/audit?first_day=yesterday&last_day=2027-01-16")
    assert answer.status_code == 400
    assert 'id="wrong-first_day">Write a day like 2026-11-22. This is “yesterday”.' in answer.text
    assert 'value="2027-01-16"' in answer.text


@pytest.mark.slow
def test_a_question_that_was_deleted_is_still_found(service: World, admin: Browser) -> None:
    collection = service.register(authored("mistake", valid_from="2027-03-01"))
    assert service.send("DELETE", f"/v1/collections/{collection.id}").status_code < 300
    assert by_api(service, {"collection": collection.id})
    page = admin.client.get(f"/audit?collection={collection.id}").text
    assert f"<option selected>{collection.id}</option>" in page


def test_verify_reads_the_whole_log_and_takes_no_filter(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(service, monkeypatch, "--verify", "--act", "sign-in")
    assert result.exit_code == 2
    assert "leave out what chooses entries" in result.output
