"""Every page and file of a demo says that it is simulated; no other service ever does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys import initialise
from deniable_aggregator.operations.demo.study import DAY_SECONDS, Question, Study
from deniable_aggregator.operations.demo_overlay import DemoSessions
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.request import ReleaseRequest
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.dashboard.pages import pages
from support.builders.simulated_demo import PastDemo, past_demo
from support.tiers import by_tier

NOON = 20_780 * DAY_SECONDS + 43_200
TICK = "show the true values"
STATED = "<strong>Simulated.</strong>"
DAYS = ((300, 200, 100),) * 9 + ((100, 200, 300),) * 7
PLAN = Question(
    name="simulated-plan",
    purpose="Which plan do people have?",
    domain={"type": "choice", "labels": ["free", "paid", "team"]},
    epsilon="3",
    answers=("free", "paid", "team"),
    past=DAYS,
    release="histogram",
    session="queries",
    public=True,
)
NUMBER = Question(
    name="simulated-cups",
    purpose="How many cups do people drink?",
    domain={"type": "number", "low": 0, "high": 2, "step": 1},
    epsilon="3",
    answers=(0, 1, 2),
    past=DAYS,
)
DEVICES = Question(
    name="simulated-devices",
    purpose="Which devices do people have?",
    domain={"type": "record", "attributes": {"os": ["x", "y"], "beta": ["no", "yes"]}},
    epsilon="3",
    answers=({"os": "x", "beta": "no"}, {"os": "y", "beta": "no"}, {"os": "y", "beta": "yes"}),
    past=DAYS,
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PastDemo]:
    study = Study((PLAN, NUMBER, DEVICES), ((0, 0, 0),))
    with past_demo(tmp_path_factory.mktemp("demo"), study, now=NOON) as made:
        yield made


@pytest.fixture(scope="module")
def visitor(demo: PastDemo) -> FlaskClient:
    return signed_in(demo.app.test_client(), demo.prepared.link)


def signed_in(client: FlaskClient, link: str) -> FlaskClient:
    """As the link does it, by its one button."""
    form = client.get(f"/sign-in?link={link}").text
    [token] = re.findall(r'name="csrf_token" value="([^"]+)"', form)
    answer = client.post("/sign-in", data={"csrf_token": token, "link": link, "next": "/health"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/health")
    return client


def addresses(demo: PastDemo) -> list[str]:
    """Every page once; those of a collection for the choice, by default."""
    listed = []
    collections = demo.prepared.collections[: by_tier(1, 3)]
    for page in pages().values():
        for collection in collections if "<collection>" in page.path else ("",):
            path = page.path.replace("<collection>", collection)
            if "<" not in path:
                listed.append(path)
    return listed


@pytest.mark.slow
@pytest.mark.deeper
def test_every_page_of_a_demo_says_so(demo: PastDemo, visitor: FlaskClient) -> None:
    for address in (*addresses(demo), "/sign-in", "/nowhere"):
        answer = visitor.get(address, headers={"Accept": "text/html"})
        assert STATED in answer.text, address
        assert answer.headers["Deniable-Simulated"] == "true"


@pytest.mark.slow
def test_a_stranger_reads_a_public_question_and_that_it_is_simulated(demo: PastDemo) -> None:
    stranger, plan = demo.app.test_client(), demo.prepared.collections[0]
    assert STATED in stranger.get(f"/public/{plan}").text
    assert '<p class="badge warn">Simulated</p>' in stranger.get(f"/embed/{plan}").text
    assert stranger.get(f"/public/{demo.prepared.collections[1]}").status_code == 404


@pytest.mark.slow
def test_the_link_signs_in_again_and_again_and_says_so(demo: PastDemo) -> None:
    for _ in range(3):
        client = demo.app.test_client()
        said = client.get(f"/sign-in?link={demo.prepared.link}").text
        assert "signs you in until the demo ends" in said
        signed_in(client, demo.prepared.link)
        assert client.get("/access").status_code == 200


@pytest.mark.slow
def test_another_link_still_works_once(demo: PastDemo) -> None:
    link = demo.service.sessions.make_link("ada", audit=None)
    assert isinstance(demo.service.sessions, DemoSessions)
    assert demo.service.sessions.use_link(link) is not None
    assert demo.service.sessions.use_link(link) is None
    assert not demo.service.sessions.holds("x" * 43)


@pytest.mark.slow
def test_bars_columns_lines_changes_and_releases_have_the_truth(
    demo: PastDemo, visitor: FlaskClient
) -> None:
    plan = demo.prepared.collections[0]
    page = visitor.get(f"/collections/{plan}").text
    assert page.count(TICK) == 2
    assert '<th scope="col">Truth</th>' in page
    truth = sum(day[0] for day in DAYS) / sum(map(sum, DAYS))
    assert f'<data value="{truth}">' in page
    compared = visitor.get(f"/collections/{plan}/compare").text
    [free] = re.findall(r'"label": ?"free"[^}]*"truth": ?(-?[0-9.]+)', _unescaped(compared))
    assert float(free) == pytest.approx(100 / 600 - 300 / 600)
    [made] = re.findall(rf"/collections/{plan}/releases/([0-9a-f]+)", _first_release(visitor, plan))
    assert TICK in visitor.get(f"/collections/{plan}/releases/{made}").text


@pytest.mark.slow
def test_numbers_have_their_true_mean_and_median(demo: PastDemo, visitor: FlaskClient) -> None:
    page = visitor.get(f"/collections/{demo.prepared.collections[1]}").text
    mean = (sum(day[1] for day in DAYS) + 2 * sum(day[2] for day in DAYS)) / sum(map(sum, DAYS))
    assert page.count('<th scope="col">Truth</th>') == 2
    assert f'<td><data value="{mean}">{mean:.2f}</data></td></tr>' in page


def test_released_ranges_of_numbers_have_the_truth_of_all_their_numbers(
    demo: PastDemo, visitor: FlaskClient
) -> None:
    collection = demo.service.registry.get(demo.prepared.collections[1])
    request = ReleaseRequest("shares", {"epsilon": "0.5", "ranges": "1..2, 0..0"})
    made = demo.service.releases.release(collection, request, audit=None)
    page = visitor.get(f"/collections/{collection.id}/releases/{made.row.release}").text
    people = [sum(answers) for answers in zip(*DAYS, strict=True)]
    drawn = re.findall(r'"label": ?"([^"]+)"[^}]*"truth": ?([0-9.]+)', _unescaped(page))
    assert {label: float(truth) for label, truth in drawn} == {
        "1 to 2": pytest.approx((people[1] + people[2]) / sum(people)),
        "0 to 0": pytest.approx(people[0] / sum(people)),
    }


def test_cells_of_a_table_have_the_truth(demo: PastDemo, visitor: FlaskClient) -> None:
    page = visitor.get(f"/collections/{demo.prepared.collections[2]}").text
    assert "truth 0.0\u202f%" in page


def test_files_of_a_demo_say_so_in_their_names_and_headers(
    demo: PastDemo, visitor: FlaskClient
) -> None:
    plan = demo.prepared.collections[0]
    for address in (
        f"/collections/{plan}?format=csv",
        f"/collections/{plan}?format=json",
        f"/collections/{plan}/compare?format=csv",
        "/ledger?format=csv",
    ):
        answer = visitor.get(address)
        assert answer.status_code == 200, address
        assert 'filename="simulated-' in answer.headers["Content-Disposition"], address
        assert "simulated-simulated" not in answer.headers["Content-Disposition"]
        assert answer.headers["Deniable-Simulated"] == "true"
    assert visitor.get(f"/collections/{plan}?format=json").get_json()["collection"] == plan
    assert plan.startswith("simulated-")


@pytest.mark.slow
def test_another_service_never_says_so(demo: PastDemo, tmp_path: Path) -> None:
    """The same data without demo.json: no label, no tick, no link."""
    settings = Settings(data=tmp_path / "data")
    initialise(settings, operator_key=settings.operator_key, now=NOON)
    with_collections = Service.open(settings, clock=lambda: float(NOON))
    try:
        [admin] = [with_collections.sessions.make_link("ada", audit=None)]
        client = signed_in(create_app(with_collections).test_client(), admin)
        for address in (page.path for page in pages().values() if "<" not in page.path):
            answer = client.get(address, headers={"Accept": "text/html"})
            assert answer.status_code == 200, address
            for word in ("Simulated", "simulated", TICK):
                assert word not in answer.text, (address, word)
            assert "Deniable-Simulated" not in answer.headers
        assert client.get(f"/sign-in?link={demo.prepared.link}").status_code == 410
    finally:
        with_collections.close()


@pytest.mark.slow
def test_without_its_file_a_demo_s_data_show_no_truth(tmp_path: Path) -> None:
    with past_demo(tmp_path, Study((PLAN,), ((0,),)), now=NOON) as made:
        plan, settings = made.prepared.collections[0], made.settings
    (settings.data / "demo.json").unlink()
    service = Service.open(settings, clock=lambda: float(NOON))
    try:
        link = service.sessions.make_link("ada", audit=None)
        client = signed_in(create_app(service).test_client(), link)
        for address in (f"/collections/{plan}", f"/collections/{plan}/compare"):
            page = client.get(address).text
            assert STATED not in page
            assert TICK not in page
            assert "Truth" not in page
            assert "truth" not in _unescaped(page)
    finally:
        service.close()


def _first_release(visitor: FlaskClient, plan: str) -> str:
    """The row of the histogram in the list of releases."""
    page: str = visitor.get(f"/collections/{plan}/releases").text
    rows: list[str] = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
    return next(row for row in rows if "histogram" in row)


def _unescaped(page: str) -> str:
    return page.replace("&#34;", '"').replace("&quot;", '"')
