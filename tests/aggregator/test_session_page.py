"""Asking an open session from its page, without a browser: the act of the API, and free."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.central import aggregate
from support.release_world import FIRST, LAST, ReleaseWorld, opened

CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }\n'
SHARE = re.compile(r"<dt>Share</dt><dd>([^<]*)</dd>")


@pytest.fixture(scope="module", params=[4, 60])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReleaseWorld]:
    """Of few labels, which are ticked, and of many, which are written down."""
    folder: Path = tmp_path_factory.mktemp("session")
    labels = tuple(str(place) for place in range(request.param))
    with opened(
        folder,
        central=CENTRAL,
        plan=aggregate.plan,
        empty=True,
        type="choice",
        labels=labels,
        more='mechanism = "grr/1"\n',
    ) as made:
        for epoch in (FIRST, LAST):
            made.count(epoch, [b"\x00"] * 30_000)
        yield made


@pytest.fixture
def address(world: ReleaseWorld) -> str:
    """Of the page of an open session; the same request opens one."""
    body = {"mechanism": "queries", "epsilon": "8"}
    path = "/v1/collections/settings/releases"
    opened = world.world.send("POST", path, "analyst", json=body).get_json()
    assert opened["questions"] is True, opened
    return f"/collections/{world.collection.id}/releases/{opened['release']}"


def ask(
    world: ReleaseWorld, address: str, *labels: str, role: str = "analyst", token: str | None = None
) -> TestResponse:
    shown = world.world.page(address, role).text
    found = re.search(r'name="csrf_token" value="([^"]*)"', shown)
    form: dict[str, object] = {"csrf_token": token or (found[1] if found else "")}
    if 'type="checkbox"' in shown:
        form["label"] = list(labels)
    else:
        form["labels"] = "\r\n".join(labels)
    return world.world.people[role].client.post(address, data=form)


def charges(world: ReleaseWorld) -> int:
    return len(world.world.service.store.charges(world.collection.id))


def test_the_answer_is_the_api_s_and_free(world: ReleaseWorld, address: str) -> None:
    before = charges(world)
    shown = ask(world, address, "0", "1")
    assert shown.status_code == 200
    found = SHARE.search(shown.text)
    assert found is not None, shown.text
    path = address.replace("/collections", "/v1/collections") + "/questions"
    told = world.world.send("POST", path, "analyst", json={"labels": ["0", "1"]}).get_json()
    share = float(found[1].replace("\u202f", "").rstrip("%"))
    assert share == pytest.approx(100 * told["result"]["share"], abs=0.06)
    assert "Of 0, 1:" in shown.text
    assert "How far off this answer may be" in shown.text
    assert charges(world) == before


def test_the_same_question_has_the_same_answer(world: ReleaseWorld, address: str) -> None:
    told = [SHARE.findall(ask(world, address, "2").text) for _ in range(2)]
    assert told[0] == told[1] != []


def test_the_audit_log_has_the_question_without_its_labels(
    world: ReleaseWorld, address: str
) -> None:
    ask(world, address, "3", "1")
    entries = world.world.get("/v1/audit", "admin").get_json()["entries"]
    asked = [entry for entry in entries if entry["act"] == "question-asked"][-1]
    assert asked["details"]["release_id"] == address.rpartition("/")[2]
    assert set(asked["details"]) == {"collection", "release_id"}


def test_a_question_that_is_none_is_refused_on_the_page(world: ReleaseWorld, address: str) -> None:
    for labels in ((), ("nobody",)):
        shown = ask(world, address, *labels)
        assert shown.status_code == 400
        assert "No answer:" in shown.text
        assert SHARE.search(shown.text) is None


def test_viewers_see_no_form_and_may_not_ask(world: ReleaseWorld, address: str) -> None:
    assert "Ask it" not in world.world.page(address, "viewer").text
    assert "Ask it" in world.world.page(address, "analyst").text
    assert ask(world, address, "0", role="viewer").status_code == 403


def test_a_form_of_another_site_asks_nothing(world: ReleaseWorld, address: str) -> None:
    assert ask(world, address, "0", token="forged").status_code in (400, 403)


def test_a_release_that_takes_no_questions_has_no_form(world: ReleaseWorld) -> None:
    body = {"mechanism": "histogram", "epsilon": "0.5"}
    path = "/v1/collections/settings/releases"
    made = world.world.send("POST", path, "analyst", json=body).get_json()
    page = f"/collections/{world.collection.id}/releases/{made['release']}"
    assert "Ask it" not in world.world.page(page, "analyst").text
