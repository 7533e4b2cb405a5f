"""The past days of a demo: the law of real reports, and all that a service does with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import EstimatesByEpochDocument, LabelEstimate
from deniable_aggregator.operations.demo.history import day_tally
from deniable_aggregator.operations.demo.questions import made_up_study
from deniable_aggregator.operations.demo.study import DAY_SECONDS, PAST_DAYS, Question, Study
from deniable_aggregator.queries import estimates
from deniable_aggregator.queries.releases import release, releases
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator
from deniable_shared.domains import encode, parse_domain
from deniable_shared.manifest.epochs import closes_at
from deniable_shared.mechanisms import for_domain
from deniable_shared.randomness.coins import Coins
from support.builders.simulated_demo import PastDemo, past_demo
from support.oracles.likelihood_ratio import likelihood_ratio
from support.tiers import by_tier

special = import_module("scipy.special")

FALSE_ALARM = 1e-8
TIMES = 3_000
DAYS = by_tier(7, PAST_DAYS)
NOON = 20_780 * DAY_SECONDS + 43_200
SMALL: dict[str, tuple[dict[str, object], str, list[object]]] = {
    "bits": ({"type": "bits", "labels": ["a", "b"]}, "rr/1", [{"a": True, "b": False}]),
    "choice": ({"type": "choice", "labels": ["a", "b", "c"]}, "grr/1", ["a", "c"]),
    "number": ({"type": "number", "low": "0", "high": "3", "step": "1"}, "cyclic/1", [0, 3]),
    "record": (
        {
            "type": "record",
            "attributes": [{"name": n, "labels": ["x", "y"]} for n in ("one", "two")],
        },
        "subset/1",
        [{"one": "x", "two": "y"}],
    ),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PastDemo]:
    whole = made_up_study()
    study = replace(whole, questions=tuple(map(recent, whole.questions)))
    with past_demo(tmp_path_factory.mktemp("demo"), study, now=NOON) as made:
        yield made


def recent(question: Question) -> Question:
    """The question over its last days alone."""
    return replace(question, past=question.past[-(DAYS // question.epoch_days) :])


@pytest.mark.statistical
@pytest.mark.parametrize("name", SMALL)
def test_a_day_has_the_law_of_the_reports_that_clients_send(name: str) -> None:
    """n = 3,000 days of one or two people, and as many of clients, each against the exact law.

    Likelihood ratio; false alarm 1e-8 each.
    """
    document, id, answers = SMALL[name]
    domain = parse_domain(document)
    mechanism = for_domain(id, domain, Fraction(1))
    estimator, coins, draws = estimator_for(mechanism), Coins.system(), generator()
    law: dict[tuple[int, ...], float] = {}
    for pairs in product(*(mechanism.pmf(domain.encode(each)).items() for each in answers)):
        rows = np.frombuffer(b"".join(payload for payload, _ in pairs), np.uint8)
        tally = tuple(estimator.tally(rows.reshape(len(answers), -1)).tolist())
        law[tally] = law.get(tally, 0.0) + float(np.prod([float(chance) for _, chance in pairs]))

    def sent() -> tuple[int, ...]:
        payloads = [mechanism.randomize(encode(domain, each)[0], coins) for each in answers]
        rows = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(answers), -1)
        return tuple(estimator.tally(rows).tolist())

    def drawn() -> tuple[int, ...]:
        people = [1] * len(answers)
        return tuple(day_tally(mechanism, domain, answers, people, draws).tolist())

    for one in (sent, drawn):
        assert _chance(Counter(one() for _ in range(TIMES)), law) > FALSE_ALARM


def _chance(seen: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    assert set(seen) <= set(law)
    expected = np.array([TIMES * chance for chance in law.values()])
    found = np.array([seen[tally] for tally in law])
    often = expected >= 8
    cells = [*zip(found[often], expected[often], strict=True)]
    if not often.all():
        cells.append((found[~often].sum(), expected[~often].sum()))
    ratio = likelihood_ratio(*np.array(cells).T)
    return float(special.chdtrc(len(cells) - 1, ratio))


@pytest.mark.statistical
def test_intervals_of_all_days_and_questions_cover_the_truth(demo: PastDemo) -> None:
    """n = 120 days of one label each, 95%: 27 or more outside have a chance below 1e-9.

    One label a day, so that days are independent; the label turns with the days.
    """
    inside = [
        _covers(row, truth)
        for number, question in enumerate(demo.study.questions)
        if question.epoch_days == 1
        for row, truth in _one_label_a_day(demo, number, question)
    ]
    assert len(inside) == 4 * PAST_DAYS
    assert special.bdtrc(26, len(inside), 0.05) < 1e-9
    assert inside.count(False) < 27


@pytest.mark.statistical
def test_intervals_would_not_cover_the_truth_of_other_days(demo: PastDemo) -> None:
    """Power: against the shares turned by one label most of the 30 days of commute are outside."""
    rows = _one_label_a_day(demo, 0, demo.study.questions[0], turned=1)
    assert sum(_covers(row, truth) for row, truth in rows) < 20


def _covers(row: LabelEstimate, truth: float) -> bool:
    assert row.lower is not None
    assert row.upper is not None
    return row.lower <= truth <= row.upper


def _one_label_a_day(
    demo: PastDemo, number: int, question: Question, *, turned: int = 0
) -> list[tuple[LabelEstimate, float]]:
    collection = demo.service.registry.get(demo.prepared.collections[number])
    document = estimates.answer(
        demo.service.store, collection, EstimatesArguments(group_by="epoch")
    )
    assert isinstance(document, EstimatesByEpochDocument)
    assert demo.service.demo is not None
    pairs = []
    for day, each in enumerate(document.epochs):
        row = each.estimates[day % len(each.estimates)]
        label = each.estimates[(day + turned) % len(each.estimates)].label
        truth = demo.service.demo.shares(collection.id, {each.epochs[0]: each.n}, [label])
        pairs.append((row, truth[label]))
    return pairs


@pytest.mark.slow
@pytest.mark.deeper
def test_every_past_epoch_is_closed_and_has_its_people(demo: PastDemo) -> None:
    for question, collection in zip(demo.study.questions, demo.prepared.collections, strict=True):
        rows = demo.service.store.epochs(collection)
        assert [row.epoch for row in rows] == list(question.past_epochs(NOON))
        assert [row.n for row in rows] == [sum(day) for day in question.past]
        manifest = demo.service.registry.get(collection).manifest
        for row in rows:
            assert row.closed_at is not None
            end = closes_at(row.epoch, manifest.epoch_seconds, 0)
            assert end <= row.closed_at <= min(end + DAY_SECONDS, NOON)


@pytest.mark.slow
@pytest.mark.deeper
def test_one_release_is_finished_and_one_session_is_open(demo: PastDemo) -> None:
    made = {}
    for collection_id in demo.prepared.collections:
        collection = demo.service.registry.get(collection_id)
        for summary in releases(demo.service.store, collection).releases:
            made[collection.name] = release(demo.service.store, collection, summary.release)
    assert {name: each.mechanism for name, each in made.items()} == {
        "simulated-commute": "histogram",
        "simulated-devices": "queries",
    }
    devices = demo.service.registry.get("simulated-devices")
    opened = made["simulated-devices"].release
    assert demo.service.releases.sessions.left(devices, opened) == 10
    assert len(demo.service.store.charges(devices.id)) == 1


@pytest.mark.slow
@pytest.mark.deeper
def test_the_clients_of_today_find_open_collections_and_keys_that_hold(demo: PastDemo) -> None:
    for collection in demo.service.registry.all():
        assert collection.state == "open"
        assert not demo.service.store.is_closed(collection.id, NOON // DAY_SECONDS)
    demo.service.tick()
    newest = demo.service.store.latest_key_list()
    assert newest is not None
    assert newest.issued <= NOON < newest.expires


def test_a_past_epoch_without_people_is_empty_and_closed(tmp_path: Path) -> None:
    question = Question(
        name="simulated-plan",
        purpose="Which plan do people have?",
        domain={"type": "choice", "labels": ["free", "paid"]},
        epsilon="1",
        answers=("free", "paid"),
        past=((0, 0), (0, 1)),
    )
    with past_demo(tmp_path, Study((question,), ((0,),)), now=NOON) as made:
        rows = made.service.store.epochs(made.prepared.collections[0])
        assert [(row.n, row.closed_at is not None) for row in rows] == [(0, True), (1, True)]
