"""Queries without a web application: a store, a collection and a question give a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.comparison import ComparisonArguments
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments, SeriesArguments
from deniable_aggregator.queries.comparison import comparison
from deniable_aggregator.queries.estimates import answer, estimates, estimates_by_epoch
from deniable_aggregator.queries.labels import MEAN, MEDIAN, label_series
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally
from deniable_aggregator.queries.series import series
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_gateway.problem import Problem
from deniable_shared.randomness.coins import Coins
from support.builders.api_world import INGEST, TODAY, TOML, authored, opened
from support.builders.databases import AnyStore, fresh, register

EVERYTHING = EstimatesArguments()
WEEK = tuple(range(TODAY - 2, TODAY + 1))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnyStore]:
    store = fresh("sqlite", tmp_path).open()
    yield store
    store.close()


def filled(store: AnyStore, values: Sequence[object], **terms: Any) -> Collection:
    """A collection with these values in each of the last three epochs."""
    collection = Collection.from_manifest(authored(**terms))
    register(store, collection.id)
    manifest, coins = collection.manifest, Coins.system()
    arrivals = [
        AcceptedReport(
            TallyKey(collection.id, epoch, manifest.version),
            coins.bytes(16),
            manifest.mechanism().randomize(manifest.domain.encode(value), coins),
        )
        for epoch in WEEK
        for value in values
    ]
    store.commit(arrivals, lambda _, rows: collection.estimator.tally(rows))
    return collection


@pytest.fixture
def collection(store: AnyStore) -> Collection:
    return filled(store, ["tea"] * 30 + ["mate"] * 10, type="choice", labels=("tea", "mate"))


def test_all_epochs_are_one_estimate(store: AnyStore, collection: Collection) -> None:
    document = estimates(store, collection, EVERYTHING)
    pool = pooled_tally(store, collection, EpochRange())
    expected = collection.estimator.estimate(pool.tally, pool.n, epochs=3)
    assert (document.n, document.epochs) == (120, [*WEEK])
    assert [row.label for row in document.estimates] == ["tea", "mate"]
    assert [row.frequency for row in document.estimates] == expected.frequencies.tolist()
    assert [row.lower for row in document.estimates] == expected.lower.tolist()


def test_each_epoch_is_what_it_is_alone(store: AnyStore, collection: Collection) -> None:
    grouped = estimates_by_epoch(store, collection, EVERYTHING)
    alone = [
        estimates(store, collection, EstimatesArguments(first=str(epoch), last=str(epoch)))
        for epoch in WEEK
    ]
    assert grouped.epochs == alone
    assert grouped.too_few_reports == []
    assert answer(store, collection, EstimatesArguments(group_by="epoch")) == grouped
    assert answer(store, collection, EVERYTHING) == estimates(store, collection, EVERYTHING)


def test_an_answer_is_frozen(store: AnyStore, collection: Collection) -> None:
    document = estimates(store, collection, EVERYTHING)
    with pytest.raises(AttributeError):
        document.n = 7  # type: ignore[misc]  # frozen: that is the point


def test_a_relay_is_an_argument(store: AnyStore, collection: Collection) -> None:
    direct = estimates(store, collection, EVERYTHING)
    relayed = estimates(store, collection, EVERYTHING, relay_batch=1_000)
    assert direct.shuffled is UNSET
    assert relayed.shuffled is not UNSET
    assert relayed.shuffled.batch == 1_000
    assert msgspec.structs.replace(relayed, shuffled=UNSET) == direct


def test_a_series_has_the_numbers_of_each_epoch(store: AnyStore, collection: Collection) -> None:
    document = series(store, collection, SeriesArguments(labels=["tea"]))
    grouped = estimates_by_epoch(store, collection, EVERYTHING)
    assert [(row.epoch, row.frequency) for row in document.rows] == [
        (each.epochs[0], each.estimates[0].frequency) for each in grouped.epochs
    ]
    assert {row.value for row in document.rows} == {UNSET}


def test_a_label_over_time_has_each_epochs_numbers(store: AnyStore, collection: Collection) -> None:
    lines = label_series(store, collection, EVERYTHING, labels=["mate"])
    grouped = estimates_by_epoch(store, collection, EVERYTHING)
    assert (lines.epochs, lines.n, lines.left_out) == (WEEK, (40, 40, 40), 0)
    assert [(moment.value, moment.upper) for moment in lines.lines["mate"]] == [
        (each.estimates[1].frequency, each.estimates[1].upper) for each in grouped.epochs
    ]


def test_two_periods_are_compared(store: AnyStore, collection: Collection) -> None:
    document = comparison(store, collection, COMPARED)
    assert (document.before.epochs, document.after.epochs) == ([*WEEK[:2]], [TODAY])
    assert [row.label for row in document.differences] == ["tea", "mate"]


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        (EstimatesArguments(first="2027-01-32"), "invalid-argument"),
        (EstimatesArguments(projection="top-down"), "invalid-argument"),
        (EstimatesArguments(last="5"), "too-few-reports"),
    ],
)
def test_a_refusal_is_a_problem(
    store: AnyStore, collection: Collection, question: EstimatesArguments, slug: str
) -> None:
    with pytest.raises(Problem) as refused:
        estimates(store, collection, question)
    assert refused.value.slug == slug


COMPARED = ComparisonArguments(first=str(TODAY), before_last=str(TODAY - 1))
QUERIES: Sequence[Callable[[AnyStore, Collection], object]] = (
    lambda store, collection: estimates(store, collection, EVERYTHING),
    lambda store, collection: estimates_by_epoch(store, collection, EVERYTHING),
    lambda store, collection: series(store, collection, SeriesArguments()),
    lambda store, collection: label_series(store, collection, EVERYTHING, labels=["beta"]),
    lambda store, collection: comparison(store, collection, COMPARED),
)


@pytest.mark.parametrize("query", QUERIES)
def test_where_only_releases_answer_no_query_does(
    store: AnyStore, query: Callable[[AnyStore, Collection], object]
) -> None:
    sealed = filled(store, [(1, 0)] * 40, read="releases", min_batch=20)
    with pytest.raises(Problem) as refused:
        query(store, sealed)
    assert refused.value.slug == "read-refused"


def test_the_address_answers_the_document_of_the_query(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        collection = world.register(authored())
        world.count(collection, [(1, 0)] * 20)
        store, path = world.running.store, f"/v1/collections/{collection.id}"
        for query, document in (
            ("estimates", estimates(store, collection, EVERYTHING)),
            ("estimates?group_by=epoch", estimates_by_epoch(store, collection, EVERYTHING)),
            ("series", series(store, collection, SeriesArguments())),
        ):
            assert world.get(f"{path}/{query}").data == msgspec.json.encode(document)


def test_the_mean_is_the_label_of_numbers(tmp_path: Path) -> None:
    head = TOML.partition("[domain]")[0].format(
        name="minutes",
        valid_from="2027-01-01",
        expires="2027-06-01",
        read="live",
        min_batch=3,
        epoch="1d",
    )
    toml = head + '[domain]\ntype = "number"\nlow = "0"\nhigh = "10"\nstep = "1"\n'
    with opened(tmp_path) as world:
        collection = world.register(manifest_from_toml(toml, ingest=INGEST))
        for epoch in WEEK:
            world.count(collection, ["4"] * 30, epoch=epoch)
        store = world.running.store
        lines = label_series(store, collection, EVERYTHING, labels=[MEAN, MEDIAN])
        grouped = estimates_by_epoch(store, collection, EVERYTHING)
    means = [each.mean for each in grouped.epochs]
    assert all(mean is not UNSET for mean in means)
    assert [moment.value for moment in lines.lines[MEAN]] == [
        mean.value for mean in means if mean is not UNSET
    ]
    medians = [row for each in grouped.epochs for row in each.quantities if row.name == MEDIAN]
    assert [(moment.value, moment.lower, moment.upper) for moment in lines.lines[MEDIAN]] == [
        (row.value, row.lower, row.upper) for row in medians
    ]
