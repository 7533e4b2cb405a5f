"""The page of a release that opened a session: asked by analysts, free, by the act of the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.kinds.queries import PreparedQuerySession
from deniable_aggregator.web.app import create_app
from support.doubles.browser import Browser
from support.processes.dashboard_site import Filler, filled, theme

ANSWER = re.compile(r'data-answer>.*?<data value="([^"]+)">', re.S)


@dataclass
class Session:
    """One open session, and somebody of each role who looks at it."""

    app: Flask
    service: Service
    collection: str
    release: str
    people: dict[str, Browser]

    @property
    def path(self) -> str:
        return f"/collections/{self.collection}/releases/{self.release}"

    def page(self, role: str = "analyst") -> TestResponse:
        return self.people[role].client.get(self.path)

    def ask(self, role: str = "analyst", **fields: Any) -> TestResponse:
        token = self.people[role].form_token("/sign-in" if role == "viewer" else self.path)
        data = {"csrf_token": token, **fields}
        return self.people[role].client.post(self.path, data=data)

    def by_api(self, *named: str, member: str = "labels") -> dict[str, Any]:
        token = self.service.tokens.create("analyst", "a program", audit=None)[1]
        answer = self.app.test_client().post(
            f"/v1{self.path}/questions",
            json={member: list(named)},
            headers={"Authorization": f"Bearer {token}"},
        )
        found: dict[str, Any] = answer.get_json()
        return found

    def acts(self) -> list[dict[str, object]]:
        token = self.service.tokens.create("admin", "an auditor", audit=None)[1]
        answer = self.app.test_client().get(
            "/v1/audit", headers={"Authorization": f"Bearer {token}"}
        )
        return [each for each in answer.get_json()["entries"] if each["act"] == "question-asked"]


PHONES = """type = "record"
[[domain.attributes]]
name = "os"
labels = ["linux", "mac"]
[[domain.attributes]]
name = "screen"
labels = ["small", "large"]
[[domain.attributes]]
name = "plan"
labels = ["free", "paid"]
"""


def opened(filler: Filler, collection: Collection) -> Session:
    """A session of ten questions, and the people who look at it."""
    arguments: dict[str, object] = {"epsilon": "2", "questions": "10"}
    release = filler.release(collection.name, "queries", arguments)
    app = create_app(filler.service)
    people = {role: Browser.signed_in(app, filler.service, role) for role in ("viewer", "analyst")}
    return Session(app, filler.service, collection.id, release, people)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with filled(tmp_path_factory.mktemp("session")) as filler:
        yield opened(filler, theme(filler))


@pytest.fixture(scope="module")
def session_about_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Of a record of three attributes, of which each report contains two."""
    more = 'mechanism = "pairs/1"\ncentral = { per_epoch = "2", per_installation = "4" }'
    answer = {"os": "mac", "screen": "large", "plan": "paid"}
    with filled(tmp_path_factory.mktemp("tables")) as filler:
        phones = filler.asked("phones", PHONES, epsilon="4", more=more)
        filler.fill(phones, [answer], [[20_000], [50]])
        yield opened(filler, phones)


@pytest.mark.slow
def test_cells_of_a_table_are_asked_for_in_lines(session_about_tables: Session) -> None:
    asked = "os=mac, plan=paid\nscreen=large"
    page = session_about_tables.ask(labels="os=mac, plan=paid\nos=linux, plan=free")
    found = ANSWER.search(page.text)
    assert found is not None
    result = session_about_tables.by_api("os=mac, plan=paid", "os=linux, plan=free", member="cells")
    assert float(found[1]) == result["result"]["share"]
    said = "os=linux, plan=free or os=mac, plan=paid"
    assert said in re.sub(r"<[^>]+>", "", page.text)
    refused = session_about_tables.ask(labels=asked)
    assert refused.status_code == 400
    assert "data-answer" not in refused.text
    assert "must be about at most 2 attributes, got one about os, screen, plan" in refused.text
    assert asked in refused.text


@pytest.mark.slow
def test_an_answer_on_the_page_is_the_api_s_and_the_same_when_asked_again(session: Session) -> None:
    first, again = (session.ask(label=["auto", "dark"]) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    found, same = ANSWER.search(first.text), ANSWER.search(again.text)
    assert found is not None
    assert same is not None
    result = session.by_api("dark", "auto")
    assert float(found[1]) == float(same[1]) == result["result"]["share"]
    assert "dark or auto" in re.sub(r"<[^>]+>", "", first.text)


@pytest.mark.slow
def test_asking_costs_nothing_and_is_an_act_of_the_audit_log(session: Session) -> None:
    before = len(session.acts())
    session.ask(label="light")
    session.by_api("dark")
    by_page, by_api = session.acts()[before:][:2]
    assert by_page["details"].keys() == by_api["details"].keys()  # type: ignore[attr-defined]  # a document has values of many types
    assert str(by_page["actor"]).startswith("analyst (")
    assert len(session.service.store.charges(session.collection)) == 1


@pytest.mark.slow
def test_what_was_chosen_stays_chosen_beside_the_answer(session: Session) -> None:
    boxes = re.findall(r'name="label" value="(\w+)"( checked)?', session.ask(label="dark").text)
    assert boxes == [("light", ""), ("dark", " checked"), ("auto", "")]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Labels must be one label or more: choose some"),
        ({"label": "purple"}, "labels must be the question"),
        ({"labels": "dark\n dark "}, "labels must each be named once"),
    ],
)
def test_a_question_that_is_none_is_refused_in_a_sentence(
    session: Session, fields: dict[str, str], words: str
) -> None:
    refused = session.ask(**fields)
    assert refused.status_code == 400
    assert words.casefold() in refused.text.casefold()
    assert "data-answer" not in refused.text


@pytest.mark.slow
def test_the_page_counts_the_questions_left_and_refuses_one_more(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = len(session.service.store.records(session.release)) - 1
    assert f"{10 - asked} new questions left." in session.page("viewer").text
    monkeypatch.setattr(PreparedQuerySession, "questions", asked)
    assert "No new questions are left" in session.page("viewer").text
    refused = session.ask(label=["light", "dark", "auto"])
    assert refused.status_code == 409
    assert f"has answered the {asked} questions that it was made for" in refused.text


def test_a_viewer_reads_the_release_and_cannot_ask(session: Session) -> None:
    result = session.page("viewer")
    assert result.status_code == 200
    assert 'name="label"' not in result.text
    assert session.ask("viewer", label="dark").status_code == 403


def test_looking_asks_nothing(session: Session) -> None:
    before = session.service.store.records(session.release)
    assert "data-answer" not in session.page().text
    assert session.service.store.records(session.release) == before


def test_a_form_from_elsewhere_asks_nothing(session: Session) -> None:
    before = session.service.store.records(session.release)
    data = {"csrf_token": "made up", "label": "light"}
    refused = session.people["analyst"].client.post(session.path, data=data)
    assert refused.status_code == 403
    assert session.service.store.records(session.release) == before
