"""Public questions: what anyone reads without a token, as a page, as files and in a frame."""

from __future__ import annotations

from dataclasses import replace

import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.web.dashboard.public_cache import MOST_ANSWERS, PublicAnswers
from support.builders.api_world import TODAY, World, authored
from support.builders.manifests import next_version

YES, NO = ({"dark_mode": value, "beta": value} for value in (True, False))
CENTRAL = 'central = { per_epoch = "9", per_installation = "9", delta = "0" }\n'


def asked(service: World, read: str, *, more: str = "public = true\n", **how: object) -> Collection:
    """20 reports two days ago and 2, too few, yesterday: both closed; 20 today."""
    manifest = authored(read, read=read, more=more + CENTRAL, **how)  # type: ignore[arg-type]  # one dict has values of many types
    collection = service.register(manifest)
    for epoch, n in ((TODAY - 2, 20), (TODAY - 1, 2), (TODAY, 20)):
        service.count(collection, [YES] * n, epoch=epoch)
        if epoch < TODAY:
            service.running.store.close_epoch(collection.id, epoch, service.clock(), audit=None)
    return collection


@pytest.mark.parametrize("read", ["live", "closed"])
def test_anyone_reads_closed_periods_with_enough_reports(service: World, read: str) -> None:
    collection = asked(service, read)
    document = service.get(f"/public/{collection.name}?format=json", None).get_json()
    assert (document["epochs"], document["n"]) == ([TODAY - 2], 20)
    assert document["provisional"] is False
    by_epoch = service.get(f"/public/{collection.id}?format=json&by=epoch", None).get_json()
    assert [each["epochs"] for each in by_epoch["epochs"]] == [[TODAY - 2]]
    assert by_epoch["too_few_reports"] == []
    table = service.get(f"/public/{read}?format=csv", None)
    assert table.content_type.startswith("text/csv")
    assert table.text.startswith("label,count,frequency")
    page = service.get(f"/public/{read}", None, Accept="text/html")
    assert page.status_code == 200
    assert "20 reports" not in page.text.split("<h1")[0]
    assert "Which settings do people turn on?" in page.text


def test_releases_show_what_was_released_and_nothing_else(service: World) -> None:
    collection = asked(service, "releases")
    empty = service.get("/public/releases", None)
    assert "Nothing was released yet" in empty.text
    made = service.running.releases.release(
        collection, ReleaseRequest("histogram", {"epsilon": "0.5"}), audit=None
    )
    spent = len(service.running.store.charges(collection.id))
    document = service.get("/public/releases?format=json", None).get_json()
    [released] = document["releases"]
    assert released["release"] == made.row.release
    assert "estimates" not in document
    page = service.get("/public/releases", None)
    assert "What was released" in page.text
    assert page.headers["ETag"] != empty.headers["ETag"]
    assert made.row.release in service.get("/public/releases?format=csv", None).text
    assert "released" in service.get("/embed/releases", None).text
    assert len(service.running.store.charges(collection.id)) == spent


@pytest.mark.parametrize("path", ["/public/{}", "/public/{}?format=csv", "/public/{}?format=json"])
def test_what_is_not_public_is_unknown(service: World, path: str) -> None:
    asked(service, "live", more="")
    hidden, missing = (service.get(path.format(name), None) for name in ("live", "nothing"))
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert service.get("/embed/live", None).status_code == 404


def test_a_question_that_was_withdrawn_is_unknown_at_once(service: World) -> None:
    collection = asked(service, "live")
    assert service.get("/public/live", None).status_code == 200
    second = next_version(
        collection.manifest, {"owner": "someone@example.org"}, without=("public",)
    )
    service.register(second)
    for path in ("/public/live", "/public/live?format=json", "/embed/live"):
        assert service.get(path, None).status_code == 404


@pytest.mark.slow
def test_browsers_keep_an_answer_until_a_period_is_finished(service: World) -> None:
    collection = asked(service, "live")
    for path in ("/public/live", "/public/live?format=csv", "/embed/live"):
        first = service.get(path, None)
        assert first.headers["Cache-Control"] == "public, max-age=300"
        again = service.get(path, None, **{"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")
        assert service.get(path, None).data == first.data
    service.count(collection, [NO] * 5, epoch=TODAY)
    assert service.get("/public/live", None, **{"If-None-Match": again.headers["ETag"]}).data
    before = service.get("/public/live", None)
    service.running.store.close_epoch(collection.id, TODAY, service.clock(), audit=None)
    after = service.get("/public/live", None, **{"If-None-Match": before.headers["ETag"]})
    assert (after.status_code, after.headers["ETag"] == before.headers["ETag"]) == (200, False)


@pytest.mark.parametrize(
    ("path", "promise"),
    [("/public/live", "A relay mixes"), ("/public/live?format=json", '"shuffled"')],
)
def test_a_browser_gets_no_privacy_of_a_relay_that_was_switched_off(
    service: World, path: str, promise: str
) -> None:
    asked(service, "live")
    now, before = changed_answer(service, path, relay_batch=1_000)
    assert promise in before.text
    assert promise not in now.text


def test_a_browser_gets_the_address_of_today_to_embed(service: World) -> None:
    asked(service, "live")
    now, before = changed_answer(service, "/public/live", public_url="https://old.example.org")
    assert "https://old.example.org/embed/live" in before.text
    assert "https://old.example.org" not in now.text


def changed_answer(
    service: World, path: str, **settings: object
) -> tuple[TestResponse, TestResponse]:
    """The answer to a browser that has the one of other settings, and that one."""
    now = service.running.settings
    service.running.settings = replace(now, **settings)  # type: ignore[arg-type]  # one dict has values of many types
    before = service.get(path, None)
    service.running.settings = now
    answer = service.get(path, None, **{"If-None-Match": before.headers["ETag"]})
    assert answer.status_code == 200
    return answer, before


def test_who_is_signed_in_sees_what_anyone_sees_and_no_cookie_is_set(service: World) -> None:
    asked(service, "live")
    for path in ("/public/live", "/embed/live"):
        answers = [service.page(path, role) for role in ("admin", "viewer")]
        answers.append(service.get(path, None))
        assert len({each.data for each in answers}) == 1
        assert not any("Set-Cookie" in each.headers for each in answers)


def test_a_page_that_an_admin_opened_first_has_no_menu_of_an_admin(service: World) -> None:
    """The answer is kept, and sent to everyone."""
    asked(service, "live")
    service.page("/public/live", "admin")
    menu = service.get("/public/live", None).text.split("</nav>")[0]
    assert "Questions" in menu
    assert not any(name in menu for name in ("Releases", "Budgets", "Set up", "Operator"))


def test_any_site_may_frame_the_embed_and_no_other_page(service: World) -> None:
    asked(service, "live")
    policy = service.get("/embed/live", None).headers
    assert policy["Content-Security-Policy"].endswith("frame-ancestors *")
    assert "script-src" not in policy["Content-Security-Policy"]
    assert "X-Frame-Options" not in policy
    for path in ("/public/live", "/", "/embed/live?theme=pink"):
        other = service.get(path, None).headers
        assert "frame-ancestors 'none'" in other["Content-Security-Policy"] or path != "/"
        assert path.startswith("/embed") or other["X-Frame-Options"] == "DENY"


def test_the_embed_has_the_interval_the_number_of_reports_and_a_link(service: World) -> None:
    asked(service, "live")
    text = service.get("/embed/live?theme=dark", None).text
    assert 'data-theme="dark"' in text
    assert 'href="/public/live"' in text
    assert "20 reports" in text
    assert "interval" in text
    assert "<script" not in text
    assert "<form" not in text


def test_before_a_period_is_finished_it_says_when_there_will_be_one(service: World) -> None:
    service.register(authored("early", more="public = true\n", min_batch=7))
    for path in ("/public/early", "/embed/early"):
        assert "is shown when it is over and has at least" in service.get(path, None).text
    refused = service.get("/public/early?format=json", None)
    assert refused.status_code == 409


def test_the_page_of_a_collection_leads_to_its_public_page(service: World) -> None:
    asked(service, "live")
    assert 'href="/public/live"' in service.page("/collections/live", "viewer").text


def test_answers_used_last_are_kept() -> None:
    from flask import Response

    answers = PublicAnswers()
    for number in range(MOST_ANSWERS + 1):
        answers.keep(str(number), Response(str(number)))
        answers.find("0")
    assert answers.find("1") is None
    kept = answers.find("0")
    assert kept is not None
    assert kept.data == b"0"
