"""Releases over HTTP: who may, what is shown, what is refused, and that reading is free."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from deniable_shared.wire.canonical import canonical_json
from support.builders.release_world import FIRST, LAST, OPEN, ReleaseWorld, opened

PATH = "/v1/collections/settings/releases"


@pytest.fixture
def release_world(tmp_path: Path) -> Iterator[ReleaseWorld]:
    with opened(tmp_path) as release_world:
        yield release_world


def post(
    release_world: ReleaseWorld, body: object, *, path: str = PATH, role: str = "analyst"
) -> TestResponse:
    return release_world.service.send("POST", path, role, json=body)


def made(release_world: ReleaseWorld, **body: object) -> dict[str, object]:
    answer = post(release_world, {"mechanism": "counts", "epsilon": "0.1", **body})
    assert answer.status_code == 201, answer.data
    found: dict[str, object] = answer.get_json()
    return found


def problem(answer: TestResponse) -> tuple[int, str, str]:
    found = answer.get_json()
    return answer.status_code, found["type"].rpartition(":")[2], found["detail"]


def test_a_release_is_made_read_and_listed(release_world: ReleaseWorld) -> None:
    shown = made(release_world, epsilon="0.2")
    assert shown["epochs"] == [FIRST, LAST]
    name = shown["release"]
    assert release_world.service.get(f"{PATH}/{name}").get_json() == shown
    [listed] = release_world.service.get(PATH).get_json()["releases"]
    assert (listed["release"], listed["state"]) == (name, "made")
    assert "result" not in listed


def test_what_is_answered_is_what_was_kept_with_its_place_in_the_log(
    release_world: ReleaseWorld,
) -> None:
    shown = made(release_world)
    log = shown.pop("log")
    assert isinstance(log, dict)
    row = release_world.service.running.store.results(release_world.collection.id)[0]
    assert shown == json.loads(row.document)
    entries = release_world.service.get("/v1/log", None).get_json()["entries"]
    body_hash = sha256(bytes.fromhex(log["salt"]) + canonical_json(shown)).hexdigest()
    assert entries[log["index"]] == ["release", body_hash]


def test_the_same_request_again_is_200_and_free(release_world: ReleaseWorld) -> None:
    first = made(release_world, epsilon="0.4")
    again = post(release_world, {"mechanism": "counts", "epsilon": "0.40", "to": LAST})
    assert (again.status_code, again.get_json()) == (200, first)
    assert release_world.charges == 1


@pytest.mark.parametrize(
    ("epochs", "read"),
    [
        ({}, [FIRST, LAST]),
        ({"from": LAST}, [LAST]),
        ({"from": str(FIRST), "to": str(FIRST)}, [FIRST]),
        ({"from": "2027-01-11", "to": "2027-01-11"}, [FIRST]),
        ({"epochs": [LAST, FIRST]}, [FIRST, LAST]),
    ],
)
def test_epochs_are_named_by_index_by_day_or_one_by_one(
    release_world: ReleaseWorld, epochs: dict[str, object], read: list[int]
) -> None:
    assert made(release_world, **epochs)["epochs"] == read


@pytest.mark.parametrize("how", ["query", "body"])
def test_the_price_is_told_and_nothing_is_charged(release_world: ReleaseWorld, how: str) -> None:
    before = release_world.service.digest()
    body = {"mechanism": "counts", "epsilon": "0.2"} | ({"cost": True} if how == "body" else {})
    answer = post(release_world, body, path=PATH + ("?cost=true" if how == "query" else ""))
    assert answer.status_code == 200
    quote = answer.get_json()
    assert quote["guarantee"]["epsilon"] == "0.2"
    assert quote["budget"]["installation"]["left"]["epsilon"] == "2"
    assert (quote["stored"], quote["refusal"]) == (None, None)
    assert len(quote["expected"]) == 1
    assert release_world.service.digest() == before


@pytest.mark.parametrize(
    ("body", "status", "slug", "words"),
    [
        ({"epochs": [OPEN]}, 409, "epoch-open", f"epoch {OPEN} takes reports until"),
        ({"to": OPEN}, 409, "epoch-open", "closed epochs only"),
        ({"from": FIRST - 2, "to": FIRST - 1}, 409, "too-few-reports", "0 reports, but 3"),
        ({"epsilon": "2"}, 409, "budget-exhausted", "epsilon 0.5 of 0.5 left"),
        ({"epsilon": 0.1}, 400, "invalid-argument", "write it as a string"),
        ({"epsilom": "1"}, 400, "invalid-argument", "epsilom is no argument of counts"),
        ({"mechanism": "guess"}, 400, "invalid-argument", "counts, talk"),
        ({"mechanism": 7}, 400, "invalid-argument", "mechanism must be the name"),
        ({"epochs": []}, 400, "invalid-argument", "1 to 1000 epoch indices"),
        ({"epochs": [FIRST], "to": LAST}, 400, "invalid-argument", "without from and to"),
        ({"from": "yesterday"}, 400, "invalid-argument", "from must be"),
        ({"from": LAST, "to": FIRST}, 400, "invalid-argument", "to must be"),
        ({"cost": "yes"}, 400, "invalid-argument", "cost must be true"),
    ],
)
def test_what_cannot_be_made_is_refused_in_words_and_not_charged(
    release_world: ReleaseWorld, body: dict[str, object], status: int, slug: str, words: str
) -> None:
    before = release_world.service.digest()
    answer = post(release_world, {"mechanism": "counts", "epsilon": "0.1", **body})
    assert problem(answer)[:2] == (status, slug)
    assert words in problem(answer)[2]
    assert release_world.charges == 0
    assert [line for line in release_world.service.digest() if "charges" in line] == [
        line for line in before if "charges" in line
    ]


def test_a_mechanism_must_be_named(release_world: ReleaseWorld) -> None:
    assert "mechanism must be" in problem(post(release_world, {"epsilon": "0.1"}))[2]
    assert "body must be a JSON object" in problem(post(release_world, [1]))[2]


def test_a_budget_that_is_gone_is_told_in_numbers_with_who_spent_it(
    release_world: ReleaseWorld,
) -> None:
    spender = made(release_world, epsilon="0.4")["release"]
    reply = post(release_world, {"mechanism": "counts", "epsilon": "0.2"}).get_json()
    numbers = [reply[name] for name in ("currency", "limit", "spent", "asked", "left")]
    assert numbers == ["epsilon", "0.5", "0.4", "0.2", "0.1"]
    assert reply["releases"] == [spender]


def test_a_viewer_reads_what_was_released_and_spends_nothing(release_world: ReleaseWorld) -> None:
    shown = made(release_world)
    before = release_world.service.digest()
    for body in ({"mechanism": "counts", "epsilon": "0.1"}, {"mechanism": "counts", "cost": True}):
        assert post(release_world, body, role="viewer").status_code == 403
    questions = f"{PATH}/{shown['release']}/questions"
    assert post(release_world, {"label": 0}, path=questions, role="viewer").status_code == 403
    for path in (PATH, f"{PATH}/{shown['release']}", "/v1/ledger"):
        assert release_world.service.get(path, "viewer").status_code == 200
    assert release_world.service.digest() == before


@pytest.mark.slow
def test_reading_never_spends(release_world: ReleaseWorld) -> None:
    shown = made(release_world)
    before = release_world.service.digest()
    for query in ("", "?cost=true", "?mechanism=counts&epsilon=0.1"):
        for path in (PATH, f"{PATH}/{shown['release']}", "/v1/ledger"):
            release_world.service.get(path + query, "admin")
    assert release_world.service.digest() == before


def test_a_session_answers_over_http_the_same_question_alike(release_world: ReleaseWorld) -> None:
    name = made(release_world, mechanism="talk")["release"]
    result = [post(release_world, {"label": 1}, path=f"{PATH}/{name}/questions") for _ in range(2)]
    assert result[0].status_code == 200
    assert result[0].get_json() == result[1].get_json()
    assert set(result[0].get_json()) == {"release", "result", "error_bars", "questions_left"}
    assert release_world.charges == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "slug"),
    [
        (f"{PATH}/{'0' * 16}/questions", {"label": 0}, 404, "not-found"),
        ("/v1/collections/nothing/releases", {"mechanism": "counts"}, 404, "unknown-collection"),
        (PATH + "?price=true", {"mechanism": "counts"}, 400, "invalid-argument"),
    ],
)
def test_what_is_not_there_is_not_found(
    release_world: ReleaseWorld, path: str, body: object, status: int, slug: str
) -> None:
    assert problem(post(release_world, body, path=path))[:2] == (status, slug)


def test_a_release_that_opened_nothing_takes_no_questions(release_world: ReleaseWorld) -> None:
    name = made(release_world)["release"]
    answer = post(release_world, {"label": 0}, path=f"{PATH}/{name}/questions")
    assert problem(answer)[:2] == (409, "conflict")


def test_a_release_of_another_collection_is_not_found(release_world: ReleaseWorld) -> None:
    from support.builders.api_world import authored

    name = made(release_world)["release"]
    release_world.service.register(authored("other"))
    answer = release_world.service.get(f"/v1/collections/other/releases/{name}")
    assert problem(answer)[:2] == (404, "not-found")


def test_the_ledger_says_what_is_spent_left_and_by_which(release_world: ReleaseWorld) -> None:
    name = made(release_world, epsilon="0.2", to=FIRST)["release"]
    found = release_world.service.get("/v1/ledger").get_json()["collections"]
    assert [each["collection"] for each in found] == [release_world.collection.id]
    [spent] = found[0]["epochs"]
    assert (spent["first"], spent["last"]) == (FIRST, FIRST)
    assert [spent[what]["epsilon"] for what in ("limit", "spent", "left")] == ["0.5", "0.2", "0.3"]
    assert found[0]["per_epoch"] == {"epsilon": "0.5", "rho": None, "delta": "0"}
    assert found[0]["installation"]["left"]["epsilon"] == "1.8"
    assert [each["release"] for each in found[0]["releases"]] == [name]


def test_the_ledger_of_one_collection_is_asked_for_by_id_or_name(
    release_world: ReleaseWorld,
) -> None:
    for name in ("settings", release_world.collection.id):
        found = release_world.service.get(f"/v1/ledger?collection={name}").get_json()
        assert len(found["collections"]) == 1
    assert problem(release_world.service.get("/v1/ledger?collection=none"))[:2] == (
        404,
        "unknown-collection",
    )


def test_a_release_is_an_act_of_whoever_asked_first_and_a_price_is_none(
    release_world: ReleaseWorld,
) -> None:
    post(release_world, {"mechanism": "counts", "epsilon": "0.1", "cost": True})
    shown = made(release_world)
    assert post(release_world, {"mechanism": "counts", "epsilon": "0.1"}).status_code == 200
    [entry] = release_world.service.get("/v1/audit", "admin").get_json()["entries"][1:]
    assert (entry["act"], entry["actor"].partition(" ")[0]) == ("release-asked", "analyst")
    assert entry["details"] == {"collection": "settings", "release": shown["release"]}
