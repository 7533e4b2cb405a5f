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
from support.builders.release_world import FIRST, LAST, OPEN, ReleaseWorld, opened

FORM = re.compile(r'<form method="post" action="[^"]*/releases".*?</form>', re.S)
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def made(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path, prepare=prepare) as made:
        yield made


def page(made: ReleaseWorld, query: str = "", role: str = "analyst") -> TestResponse:
    return made.world.page(f"/collections/{made.collection.id}/releases{query}", role)


def form_of(made: ReleaseWorld, query: str = "?cost=true&epsilon=0.2") -> dict[str, str]:
    """What the confirmation carries."""
    match = FORM.search(page(made, query).text)
    assert match is not None
    return {name: html.unescape(value) for name, value in HIDDEN.findall(match[0])}


def confirm(made: ReleaseWorld, form: dict[str, str], role: str = "analyst") -> TestResponse:
    page(made, "", role)
    path = f"/collections/{made.collection.id}/releases"
    return made.world.people[role].client.post(path, data=form)


def acts(made: ReleaseWorld) -> list[dict[str, object]]:
    entries = made.world.get("/v1/audit", "admin").get_json()["entries"]
    return [entry for entry in entries if entry["act"] == "release-asked"]


def test_the_same_form_sent_again_ends_at_the_same_release_and_is_charged_once(
    made: ReleaseWorld,
) -> None:
    form = form_of(made)
    first, again = confirm(made, form), confirm(made, form)
    assert (first.status_code, again.status_code) == (303, 303)
    assert first.location == again.location
    assert made.charges == 1
    assert made.world.page(first.location).status_code == 200


def test_the_audit_log_has_it_once_as_it_has_the_api_s(made: ReleaseWorld) -> None:
    form = form_of(made)
    confirm(made, form)
    confirm(made, form)
    body = {"mechanism": "histogram", "epsilon": "0.1"}
    path = f"/v1/collections/{made.collection.id}/releases"
    made.world.send("POST", path, "analyst", json=body)
    by_page, by_api = acts(made)
    assert by_page["details"].keys() == by_api["details"].keys()  # type: ignore[attr-defined]  # a document has values of many types
    assert str(by_page["actor"]).startswith("analyst (")


def test_what_was_priced_is_charged_though_an_epoch_closed_since(made: ReleaseWorld) -> None:
    form = form_of(made)
    made.world.service.store.close_epoch(made.collection.id, OPEN, made.world.clock(), audit=None)
    assert confirm(made, form).status_code == 303
    [charged] = made.world.service.store.charges(made.collection.id)
    assert charged.epochs == (FIRST, LAST)


def test_looking_spends_and_writes_nothing(made: ReleaseWorld) -> None:
    page(made)
    before = made.world.digest()
    for query in ("", "?cost=true&epsilon=0.2", "?cost=true&epsilon=9", "?mechanism=mwem"):
        assert page(made, query).status_code == 200
    assert made.world.digest() == before


def test_a_viewer_gets_no_form_no_price_and_no_release(made: ReleaseWorld) -> None:
    form = form_of(made)
    text = page(made, "?cost=true&epsilon=0.2", "viewer").text
    assert "Make a release" not in text
    assert "What it would cost" not in text
    assert confirm(made, form, "viewer").status_code == 403
    assert made.charges == 0


def test_a_form_from_elsewhere_is_refused(made: ReleaseWorld) -> None:
    form = form_of(made) | {"csrf_token": "made up"}
    assert confirm(made, form).status_code == 403
    assert made.charges == 0


def test_a_spent_budget_is_said_with_what_was_asked_and_what_is_left(made: ReleaseWorld) -> None:
    form = form_of(made, "?cost=true&epsilon=0.4")
    confirm(made, form_of(made))
    refused = confirm(made, form)
    text = re.sub(r"<[^>]+>|\s+", " ", refused.text)
    assert refused.status_code == 409
    assert "Nothing was charged" in text
    assert re.search(r"Limit +0.5 .*Spent +0.2 .*Asked +0.4 .*Left +0.3", text)
    assert made.charges == 1


def test_an_open_epoch_is_a_sentence(made: ReleaseWorld) -> None:
    text = page(made, f"?cost=true&epsilon=0.2&to={LAST + 1}").text
    assert f"Epoch {LAST + 1} takes reports until" in text


def test_nothing_is_confirmed_that_was_not_priced(made: ReleaseWorld) -> None:
    form = form_of(made)
    del form["epochs"]
    assert "see the cost first" in confirm(made, form).text
    assert made.charges == 0


def test_a_release_s_page_has_the_numbers_of_its_document(made: ReleaseWorld) -> None:
    where = confirm(made, form_of(made)).location
    text = made.world.page(where).text
    document = made.world.get("/v1" + where).get_json()
    for row in document["result"]["estimates"]:
        assert f'<data value="{row["frequency"]}">' in text
    assert document["log"]["salt"] in text


def test_the_price_and_the_release_show_the_typical_error(made: ReleaseWorld) -> None:
    query = "?cost=true&epsilon=0.2&mechanism=exponential"
    quote_request, where = page(made, query).text, confirm(made, form_of(made, query)).location
    [error] = made.world.get("/v1" + where).get_json()["typical_errors"]
    for text in (quote_request, made.world.page(where).text):
        assert "Typical error, simulated for made-up people" in text
        assert error["population"] in html.unescape(text)


def test_a_release_s_files_are_its_document_and_its_table(made: ReleaseWorld) -> None:
    where = confirm(made, form_of(made)).location
    document = made.world.get("/v1" + where).get_json()
    assert made.world.page(where + "?format=json").get_json() == document
    hrefs = re.findall(r'href="([^"]*format=csv[^"]*)"', made.world.page(where).text)
    [table] = [made.world.page(html.unescape(href)) for href in hrefs]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    for row, estimate in zip(rows, document["result"]["estimates"], strict=True):
        assert row["label"] == estimate["label"]
        assert float(row["frequency"]) == estimate["frequency"]
    assert "attachment" in table.headers["Content-Disposition"]


@pytest.mark.parametrize("table", ["", "&table=nothing", "&table=<b>"])
def test_a_table_that_a_release_has_not_is_refused(made: ReleaseWorld, table: str) -> None:
    where = confirm(made, form_of(made)).location
    refused = made.world.page(where + "?format=csv" + table)
    assert (refused.status_code, refused.mimetype) == (400, "text/html")
    assert "<b>" not in refused.text


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["", "collection=settings&"])
def test_a_ledger_s_files_are_what_the_api_answers(made: ReleaseWorld, whose: str) -> None:
    confirm(made, form_of(made))
    address = f"/v1/ledger?{whose}".rstrip("?&")
    page = f"/ledger?{whose}format="
    assert made.world.page(page + "json").data == made.world.get(address).data
    assert made.world.page(page + "csv").data == made.world.get(address, Accept="text/csv").data
    assert page.replace("&", "&amp;") + "csv" in made.world.page(f"/ledger?{whose}").text


def test_a_charge_without_a_result_has_no_page_and_says_the_cure(made: ReleaseWorld) -> None:
    answer = made.world.page(f"/collections/{made.collection.id}/releases/{'0' * 16}")
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
