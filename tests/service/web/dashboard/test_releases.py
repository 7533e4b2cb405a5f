"""The pages of releases without a browser: the act of the API, once, and only by analysts."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.documents.describe import when
from deniable_aggregator.releases.kinds import RELEASE_KINDS, parameters, prepare
from deniable_aggregator.web.dashboard.release_form import (
    ReleasesArguments,
    ReleasesQuery,
    hidden_fields,
    kind_options,
    parameters_of,
    release_request,
)
from deniable_gateway.problem import Problem
from support.builders.api_world import DAY
from support.builders.release_world import FIRST, LAST, OPEN, ReleaseWorld, opened

FORM = re.compile(r'<form method="post" action="[^"]*/releases".*?</form>', re.S)
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path, prepare=prepare) as release_world:
        yield release_world


def page(release_world: ReleaseWorld, query: str = "", role: str = "analyst") -> TestResponse:
    return release_world.service.page(
        f"/collections/{release_world.collection.id}/releases{query}", role
    )


def form_of(release_world: ReleaseWorld, query: str = "?cost=true&epsilon=0.2") -> dict[str, str]:
    """What the confirmation carries."""
    match = FORM.search(page(release_world, query).text)
    assert match is not None
    return {name: html.unescape(value) for name, value in HIDDEN.findall(match[0])}


def confirm(
    release_world: ReleaseWorld, form: dict[str, str], role: str = "analyst"
) -> TestResponse:
    page(release_world, "", role)
    path = f"/collections/{release_world.collection.id}/releases"
    return release_world.service.people[role].client.post(path, data=form)


def acts(release_world: ReleaseWorld) -> list[dict[str, object]]:
    entries = release_world.service.get("/v1/audit", "admin").get_json()["entries"]
    return [entry for entry in entries if entry["act"] == "release-asked"]


@pytest.mark.slow
def test_a_form_sent_twice_makes_one_release_and_one_charge(
    release_world: ReleaseWorld,
) -> None:
    form = form_of(release_world)
    first, again = confirm(release_world, form), confirm(release_world, form)
    assert (first.status_code, again.status_code) == (303, 303)
    assert first.location == again.location
    assert release_world.charges == 1
    assert release_world.service.page(first.location).status_code == 200


@pytest.mark.slow
def test_the_audit_log_has_it_once_as_it_has_the_api_s(release_world: ReleaseWorld) -> None:
    form = form_of(release_world)
    confirm(release_world, form)
    confirm(release_world, form)
    body = {"mechanism": "histogram", "epsilon": "0.1"}
    path = f"/v1/collections/{release_world.collection.id}/releases"
    release_world.service.send("POST", path, "analyst", json=body)
    by_page, by_api = acts(release_world)
    assert by_page["details"].keys() == by_api["details"].keys()  # type: ignore[attr-defined]  # a document has values of many types
    assert str(by_page["actor"]).startswith("analyst (")


@pytest.mark.slow
def test_what_was_priced_is_charged_though_an_epoch_closed_since(
    release_world: ReleaseWorld,
) -> None:
    form = form_of(release_world)
    release_world.service.running.store.close_epoch(
        release_world.collection.id, OPEN, release_world.service.clock(), audit=None
    )
    assert confirm(release_world, form).status_code == 303
    [charged] = release_world.service.running.store.charges(release_world.collection.id)
    assert charged.epochs == (FIRST, LAST)


@pytest.mark.slow
def test_looking_spends_and_writes_nothing(release_world: ReleaseWorld) -> None:
    page(release_world)
    before = release_world.service.digest()
    for query in ("", "?cost=true&epsilon=0.2", "?cost=true&epsilon=9", "?mechanism=mwem"):
        assert page(release_world, query).status_code == 200
    assert release_world.service.digest() == before


def test_a_viewer_gets_no_form_no_price_and_no_release(release_world: ReleaseWorld) -> None:
    form = form_of(release_world)
    text = page(release_world, "?cost=true&epsilon=0.2", "viewer").text
    assert "Make a release" not in text
    assert "What it would cost" not in text
    assert confirm(release_world, form, "viewer").status_code == 403
    assert release_world.charges == 0


def test_a_form_from_elsewhere_is_refused(release_world: ReleaseWorld) -> None:
    form = form_of(release_world) | {"csrf_token": "made up"}
    assert confirm(release_world, form).status_code == 403
    assert release_world.charges == 0


@pytest.mark.slow
def test_a_spent_budget_is_said_with_what_was_asked_and_what_is_left(
    release_world: ReleaseWorld,
) -> None:
    form = form_of(release_world, "?cost=true&epsilon=0.4")
    confirm(release_world, form_of(release_world))
    refused = confirm(release_world, form)
    text = re.sub(r"<[^>]+>|\s+", " ", refused.text)
    assert refused.status_code == 409
    assert "Nothing was spent" in text
    assert re.search(r"Limit +0.5 .*Spent +0.2 .*Requested +0.4 .*Left +0.3", text)
    assert release_world.charges == 1


def test_an_open_epoch_is_a_sentence(release_world: ReleaseWorld) -> None:
    text = page(release_world, f"?cost=true&epsilon=0.2&to={LAST + 1}").text
    assert f"{when((LAST + 1) * DAY)} takes reports until" in text


def test_nothing_is_confirmed_that_was_not_priced(release_world: ReleaseWorld) -> None:
    form = form_of(release_world)
    del form["epochs"]
    assert "see the price first" in confirm(release_world, form).text
    assert release_world.charges == 0


@pytest.mark.slow
def test_a_release_s_page_has_the_numbers_of_its_document(release_world: ReleaseWorld) -> None:
    where = confirm(release_world, form_of(release_world)).location
    text = release_world.service.page(where).text
    document = release_world.service.get("/v1" + where).get_json()
    for row in document["result"]["estimates"]:
        assert f'<data value="{row["frequency"]}">' in text
    assert document["log"]["salt"] in text


@pytest.mark.slow
def test_the_price_and_the_release_show_the_typical_error(release_world: ReleaseWorld) -> None:
    query = "?cost=true&epsilon=0.2&mechanism=exponential"
    quote_request, where = (
        page(release_world, query).text,
        confirm(release_world, form_of(release_world, query)).location,
    )
    [error] = release_world.service.get("/v1" + where).get_json()["typical_errors"]
    for text in (quote_request, release_world.service.page(where).text):
        assert "Typical error, for simulated people" in text
        assert error["population"] in html.unescape(text)


@pytest.mark.slow
def test_a_release_s_files_are_its_document_and_its_table(release_world: ReleaseWorld) -> None:
    where = confirm(release_world, form_of(release_world)).location
    document = release_world.service.get("/v1" + where).get_json()
    assert release_world.service.page(where + "?format=json").get_json() == document
    hrefs = re.findall(r'href="([^"]*format=csv[^"]*)"', release_world.service.page(where).text)
    [table] = [release_world.service.page(html.unescape(href)) for href in hrefs]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    for row, estimate in zip(rows, document["result"]["estimates"], strict=True):
        assert row["label"] == estimate["label"]
        assert float(row["frequency"]) == estimate["frequency"]
    assert "attachment" in table.headers["Content-Disposition"]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["", "&table=nothing", "&table=<b>"])
def test_a_table_that_a_release_has_not_is_refused(release_world: ReleaseWorld, table: str) -> None:
    where = confirm(release_world, form_of(release_world)).location
    refused = release_world.service.page(where + "?format=csv" + table)
    assert (refused.status_code, refused.mimetype) == (400, "text/html")
    assert "<b>" not in refused.text


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["", "collection=settings&"])
def test_a_ledger_s_files_are_what_the_api_answers(release_world: ReleaseWorld, whose: str) -> None:
    confirm(release_world, form_of(release_world))
    address = f"/v1/ledger?{whose}".rstrip("?&")
    page = f"/ledger?{whose}format="
    assert release_world.service.page(page + "json").data == release_world.service.get(address).data
    assert (
        release_world.service.page(page + "csv").data
        == release_world.service.get(address, Accept="text/csv").data
    )
    assert page.replace("&", "&amp;") + "csv" in release_world.service.page(f"/ledger?{whose}").text


def test_a_charge_without_a_result_has_no_page_and_says_the_cure(
    release_world: ReleaseWorld,
) -> None:
    answer = release_world.service.page(
        f"/collections/{release_world.collection.id}/releases/{'0' * 16}"
    )
    assert answer.status_code == 404
    assert "has no release" in answer.text


def test_every_family_is_offered_with_all_its_arguments() -> None:
    assert [family.name for family in kind_options()] == list(RELEASE_KINDS)
    assert all(family.does for family in kind_options())
    for name in RELEASE_KINDS:
        assert {each.name for each in parameters_of(name)} <= set(ReleasesQuery.__struct_fields__)
        assert parameters_of(name) == parameters(name)
    reserved = {"mechanism", "first", "last", "from", "to", "epochs", "cost", "page"}
    assert not reserved & {each.name for name in RELEASE_KINDS for each in parameters(name)}


@pytest.mark.parametrize("epochs", [(7,), (1, 2, 3), (1, 3, 4, 9)])
def test_epochs_come_back_as_they_were_priced(epochs: tuple[int, ...]) -> None:
    form = hidden_fields(ReleasesArguments(), epochs)
    assert release_request(ReleasesArguments(epochs=form["epochs"])).selection.listed == epochs


def test_too_many_epochs_are_refused_before_they_are_counted() -> None:
    with pytest.raises(Problem, match="at most 1,000"):
        release_request(ReleasesArguments(epochs="0 to 4294967295"))
