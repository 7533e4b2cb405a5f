"""Where only releases may be read, what every surface says is a function of draws and public n.

Two services are equal but for one replaced report, or but for how many reports an epoch has below
`min_batch`. Viewer, analyst and administrator then see the same bytes on every surface: prices,
refusals, documents and pages of releases, forms, files, sessions, commands, SQL views.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.releases.kinds import RELEASE_KINDS, error_simulation
from deniable_aggregator.store.opening import open_read_only
from support.builders.api_world import TODAY, World, authored
from support.builders.manifests import next_version
from support.builders.release_world import ReleaseWorld
from support.builders.twin_services import Reports, add, equally_drawn, equally_tossed, twins
from support.oracles.read_surfaces import (
    Answer,
    by_command,
    everything,
    forms_of_release,
)
from support.tiers import by_tier, grid, thorough

MIN_BATCH = 100
EARLY, LATE, SMALL, NEVER = TODAY - 6, TODAY - 5, TODAY - 4, TODAY - 7
PATH = "/v1/collections/{}/releases"
CENTRAL = 'central = { per_epoch = "99", per_installation = "99", delta = "0.01" }\n'
LABELS = ("1", "2", "5")
ENOUGH = (Reports(LATE, (503, 303, 203)), Reports(LATE, (509, 307, 197), cohort=1))
"""An epoch that is read, in two cohorts of 1009 and 1013 reports."""
REPLACED = (Reports(LATE, (502, 304, 203)), ENOUGH[1])
"""The same, but that one report says another label."""
SECRET = {1009, 1013, 503, 509, 303, 307, 203, 197, 1012, 610, 1412, 910}
"""Sizes of cohorts and counts without noise, by themselves and added up."""
REQUESTS: list[dict[str, object]] = [
    {"mechanism": "allocate", "none": "1", "supply": [9, 9], "epsilon": "0.5"},
    {"mechanism": "exponential", "score": "mode", "epsilon": "0.5"},
    {"mechanism": "exponential", "score": "quantile", "epsilon": "0.5"},
    {"mechanism": "exponential", "score": "revenue", "epsilon": "0.5"},
    {"mechanism": "histogram", "epsilon": "0.5"},
    {"mechanism": "median", "epsilon": "1", "delta": "1e-6"},
    {"mechanism": "mwem", "workload": "points", "epsilon": "0.5"},
    {"mechanism": "noisy-max", "score": "mode", "epsilon": "0.5", "noise": "gumbel"},
    {"mechanism": "price", "highest": "5", "ratio": "1.5", "epsilon": "0.5"},
    {"mechanism": "queries", "epsilon": "8"},
    {"mechanism": "sample-aggregate", "epsilon": "1", "delta": "1e-6"},
    {"mechanism": "small-db", "workload": "prefixes", "alpha": "0.5", "epsilon": "0.5"},
    {"mechanism": "top-k", "k": 2, "epsilon": "0.5"},
]
"""One of each kind that reads labels, and more where scores differ."""
OF_OTHER_DOMAINS = {"mean", "shares", "table", "texts"}
"""See `test_reading_surfaces`."""
REFUSED: list[dict[str, object]] = [
    {"mechanism": "queries", "epsilon": "0.000001"},
    {"mechanism": "histogram", "epsilon": "21"},
    {"mechanism": "histogram"},
    {"mechanism": "nothing"},
]
SETS: list[dict[str, object]] = [
    {},
    {"epochs": [EARLY]},
    {"epochs": [EARLY, SMALL]},
    {"epochs": [EARLY, LATE, SMALL, NEVER]},
    {"epochs": [SMALL]},
    {"epochs": [NEVER]},
    {"epochs": [SMALL, NEVER]},
    {"from": SMALL},
    {"to": SMALL},
]
PRICED = by_tier(SETS[3:4], SETS)
"""All kinds of epochs together; the exhaustive tier has those that nothing is read of alone."""
RELEASED = by_tier(SETS[:5:4], SETS[:5:2])

pytestmark = pytest.mark.deeper


def prepared(world: World) -> Collection:
    """One epoch with many reports."""
    return _begun(world, read="releases")


def narrowed(world: World) -> Collection:
    """The same, but that anybody could read the collection until its second version."""
    collection = _begun(world, read="live")
    return world.register(next_version(collection.manifest, {"read": "releases"}))


def _begun(world: World, *, read: str) -> Collection:
    more = f'public = true\ncohorts = 64\nmechanism = "grr/1"\n{CENTRAL}'
    manifest = authored(
        "theme", type="choice", labels=LABELS, read=read, min_batch=MIN_BATCH, more=more
    )
    collection = world.register(manifest)
    add(world, collection, Reports(EARLY, (400, 300, 300)))
    return collection


def said(made: ReleaseWorld, patch: pytest.MonkeyPatch) -> list[Answer]:
    """All that can be seen from making releases and afterwards; exhaustively, before as well."""
    read = partial(everything, made.service, made.collection, patch)
    before = [*read(), *prices(made)] if thorough() else []
    released = [*releases(made, patch), *by_form(made), *questions(made, patch)]
    [first, *_] = made.service.running.store.charges(made.collection.id)
    after = read(release=first.release)
    return [*before, *released, *after, *prices(made), views(made)]


def prices(made: ReleaseWorld) -> Iterator[Answer]:
    for body, epochs in product([*REQUESTS, *REFUSED], PRICED):
        yield posted(made, "", {**body, **epochs, "cost": True})


def releases(made: ReleaseWorld, patch: pytest.MonkeyPatch) -> Iterator[Answer]:
    """Made by an analyst, read in every form by a viewer."""
    for body, epochs in product([*REQUESTS, *REFUSED], RELEASED):
        yield posted(made, "", {**body, **epochs})
    for row in made.service.running.store.charges(made.collection.id):
        yield from forms_of_release(made.service, patch, made.collection, row.release)


def by_form(made: ReleaseWorld) -> Iterator[Answer]:
    """A price on its page, confirmed there."""
    page = f"/collections/{made.collection.id}/releases"
    quote_page = made.service.page(f"{page}?cost=true&epsilon=0.25", "analyst")
    yield Answer(page, quote_page.status_code, quote_page.text)
    form = re.search(r'<form method="post".*?</form>', quote_page.text, re.S)
    assert form is not None
    fields = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0])
    data = {name: html.unescape(value) for name, value in fields}
    answer = made.service.people["analyst"].client.post(page, data=data, follow_redirects=True)
    yield Answer(f"POST {page}", answer.status_code, answer.text)


def questions(made: ReleaseWorld, patch: pytest.MonkeyPatch) -> Iterator[Answer]:
    """To a session, by HTTP, on its page and by command, until they are used up."""
    opened = posted(made, "", {"mechanism": "queries", "epsilon": "9", "questions": 2})
    yield opened
    release = re.findall(r'"release":"(\w+)"', opened.text)[0]
    for labels in (["1"], ["2", "5"], ["1"], ["5"]):
        yield posted(made, f"/{release}/questions", {"labels": labels})
    page = f"/collections/{made.collection.id}/releases/{release}"
    browser = made.service.people["analyst"]
    data = {"csrf_token": browser.form_token(page), "label": "1"}
    answer = browser.client.post(page, data=data)
    yield Answer(f"POST {page}", answer.status_code, answer.text)
    for label in ("1", "5"):
        words = ["releases", "ask", made.collection.id, release, "--labels", label]
        yield by_command(made.service, patch, words)


def views(made: ReleaseWorld) -> Answer:
    with open_read_only(made.service.running.settings) as db:
        rows = [
            db.execute(f"select * from {name}").fetchall()  # noqa: S608  (the names in it are fixed)
            for name in ("v_estimate", "v_ingest", "v_rejection", "v_ledger")
        ]
    return Answer("views", 200, str(rows))


def posted(made: ReleaseWorld, path: str, body: dict[str, object]) -> Answer:
    where = PATH.format(made.collection.id) + path
    answer = made.service.send("POST", where, "analyst", json=body)
    return Answer(f"POST {where} {body}", answer.status_code, answer.text)


def differing(answers: Sequence[Sequence[Answer]]) -> set[str]:
    """Surfaces that do not say the same everywhere."""
    assert len({len(each) for each in answers}) == 1
    rows = zip(*answers, strict=True)
    return {row[0].where for row in rows if len({(each.status, each.text) for each in row}) > 1}


def numbers(answers: Sequence[Answer]) -> set[int]:
    """Every whole number that is said, however its thousands are set apart."""
    texts = (re.sub(r"(?<=\d)[,\u202f\u00a0](?=\d{3}\b)", "", each.text) for each in answers)
    return {int(each) for text in texts for each in re.findall(r"(?<![\w.])\d{1,6}(?![\w.])", text)}


def quickly_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typical errors of fewer runs, from the same public facts; the exhaustive tier has all."""
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)


def test_every_kind_is_compared() -> None:
    assert {request["mechanism"] for request in REQUESTS} == {*RELEASE_KINDS} - OF_OTHER_DOMAINS


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    "prepare", grid([prepared, narrowed], by_default=[prepared], long=[narrowed])
)
def test_one_replaced_report_shows_on_no_surface_but_in_the_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[World], Collection]
) -> None:
    quickly_simulated(monkeypatch)
    few = Reports(SMALL, (3, 1, 1))
    with twins(
        tmp_path, prepare, [(*ENOUGH, few), (*REPLACED, Reports(SMALL, (1, 3, 1)))], equally_drawn
    ) as worlds:
        answers = [said(made, monkeypatch) for made in worlds]
    assert differing(answers) == set()
    made = [each for each in answers[0] if each.where.startswith("POST /v1")]
    assert sum(each.status == 201 for each in made) > by_tier(len(REQUESTS), 20)
    assert sum(each.status == 200 for each in made) >= by_tier(len(REQUESTS), 101)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    "prepare", grid([prepared, narrowed], by_default=[narrowed], long=[prepared])
)
def test_how_many_reports_a_small_epoch_has_shows_on_no_surface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[World], Collection]
) -> None:
    """Draws included: its reports are in none of them. An epoch without any looks the same."""
    small = [(), (Reports(SMALL, (1, 0, 0)),), (Reports(SMALL, (2, 2, 1)),)]
    small += [(Reports(SMALL, (20, 15, 5)), Reports(SMALL, (20, 20, 19), cohort=5))]
    with twins(
        tmp_path, prepare, [(*ENOUGH, *each) for each in small[:: by_tier(3, 1)]], equally_tossed
    ) as worlds:
        answers = [said(made, monkeypatch) for made in worlds]
    assert differing(answers) == set()
    assert numbers(answers[0]) >= {1000, 2022, 3022}
    assert not numbers(answers[0]) & SECRET
