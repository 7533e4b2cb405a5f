"""Releases of numbers, records and texts: exact privacy, intervals, what is asked and refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import linear_reading, prepare
from deniable_aggregator.releases.kinds.noisy_sums import PreparedSums
from deniable_central.pmf import Pmf
from deniable_shared.domains import Number
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from deniable_shared.randomness.coins import Coins
from support.builders.record_domains import record
from support.builders.release_contexts import (
    Vector,
    context,
    messages,
    neighbours,
    tallies,
)
from support.builders.small_mechanisms import CHOICES, SMALL, mechanism
from support.builders.small_readings import NUMBERS, RANGES, READINGS, TABLES, TEXTS
from support.oracles.neighbour_pmfs import (
    check_epsilon_is_exact,
)
from support.tiers import rows

FAR = 26


def sums(kind: str, built: Mechanism, n: int, **arguments: object) -> PreparedSums:
    release = prepare(kind, {"epsilon": "1", **arguments}, context(built, n, numbers=True))
    assert isinstance(release, PreparedSums)
    return release


def law_of(release: PreparedSums, n: int) -> Any:
    def law(counts: Vector) -> Pmf[tuple[int, ...]]:
        return release.pmf(tallies(counts, n), farthest=FAR)

    return law


def different(release: PreparedSums, built: Mechanism, n: int) -> list[tuple[Vector, Vector]]:
    """All neighbours, of those with the same two raw sums one pair: the law is of these alone."""
    every = list(neighbours(built, n))
    raws = [[tuple(release.reading(np.array(each)).tolist()) for each in pair] for pair in every]
    return list({tuple(raw): pair for raw, pair in zip(raws, every, strict=True)}.values())


ONE_ROW: list[tuple[str, str, dict[str, object]]] = [
    *((name, "mean", {}) for name in sorted(NUMBERS)),
    *((name, "shares", dict[str, object](ranges="1..2")) for name in sorted(RANGES)),
    *(
        (name, "table", dict[str, object](attributes="a, b", cell="l1, l0"))
        for name in sorted(TABLES)
    ),
    *((name, "texts", dict[str, object](texts="a")) for name in ("hcms-1", "prefix-1")),
    ("grr-4", "mean", {}),
    ("dbitflip", "shares", {"ranges": "0..1"}),
]


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps from one end of a row to the other, so that all of them can be listed."""
    monkeypatch.setattr(linear_reading, "_GRID", 8)


def built_of(name: str) -> Mechanism:
    if name == "dbitflip":
        return mechanism("dbitflip/1", 3, sampled=1)
    return READINGS.get(name) or CHOICES[name]


@pytest.mark.parametrize(("name", "kind", "arguments"), rows(ONE_ROW, by_default=ONE_ROW[::3]))
def test_one_replaced_report_is_visible_by_epsilon_and_no_more(
    coarse: None, name: str, kind: str, arguments: dict[str, object]
) -> None:
    built, n = built_of(name), 2
    release = sums(kind, built, n, **arguments)
    if release.sensitivity > FAR // 2:
        release = replace(release, reading=replace(release.reading, matrix=_coarser(release)))
    pairs = different(release, built, n)
    check_epsilon_is_exact(law_of(release, n), pairs, release.guarantee)


def _coarser(release: PreparedSums) -> Any:
    """A matrix of equal signs: the noise law holds for any integers in a row."""
    return np.sign(release.reading.matrix)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree-5", "haar-4", "pairs-2-3"])
def test_several_rows_together_cost_epsilon(coarse: None, name: str) -> None:
    built, n = READINGS[name], 1
    release = (
        sums("table", built, n, attributes="a")
        if name in TABLES
        else sums("shares", built, n, ranges="2")
    )

    def law(counts: Vector) -> Pmf[tuple[int, ...]]:
        return release.pmf(tallies(counts, n), farthest=12)

    pairs = different(release, built, n)
    check_epsilon_is_exact(law, pairs, release.guarantee)


def test_a_law_of_too_many_outcomes_is_refused() -> None:
    release = sums("shares", RANGES["haar-4"], 2, ranges="4")
    with pytest.raises(ParameterError, match="farthest must allow at most 65,536 outcomes"):
        release.pmf(tallies(tuple(messages(RANGES["haar-4"])[0]), 2), farthest=20)


def test_a_mean_is_shown_in_the_units_of_its_domain_and_as_a_sum() -> None:
    built = NUMBERS["optimal-3"]
    given = replace(
        context(built, 90_000), domain=Number.from_json(
            {"type": "number", "low": "10", "high": "30", "step": "10"}
        )
    )  # fmt: skip
    release = prepare("mean", {"epsilon": "1"}, given)
    counts = np.rint(90_000 * np.array([float(x) for x in built.pmf(2).values()])).astype(int)
    counts[-1] += 90_000 - counts.sum()
    result = release.draw(tallies(tuple(counts.tolist()), 90_000), Coins.derive(b"a mean"))
    rows: Any = result.result["quantities"]
    mean, total = rows
    assert mean["quantity"] == "mean"
    assert mean["least"] <= 30 == mean["most"] or mean["least"] <= mean["value"] <= mean["most"]
    assert mean["value"] == pytest.approx(30, abs=0.5)
    assert total["value"] == pytest.approx(90_000 * mean["value"])
    assert result.error_bars[0].quantity == "error of the mean"
    assert 1.96 * mean["error"] < float(result.error_bars[0].upper or 0) < 0.1


def test_equal_parts_and_ranges_are_one_request_in_two_spellings() -> None:
    parts = sums("shares", RANGES["haar-4"], 100, ranges=2)
    named = sums("shares", RANGES["haar-4"], 100, ranges=["0..1", "2.0..3"])
    assert parts.parameters == named.parameters
    assert parts.parameters["ranges"] == "0..1, 2..3"
    counts = np.zeros(RANGES["haar-4"].tally_size, dtype=np.int64)
    counts[0] = 100
    rows: Any = parts.draw(tallies(tuple(counts.tolist()), 100)).result["estimates"]
    assert [row["label"] for row in rows] == ["0 to 1", "2 to 3"]
    assert parts.law == "two-sided geometric noise on every sum"


def test_a_table_shows_every_cell_and_one_cell_by_its_labels() -> None:
    built = TABLES["pairs-2-3"]
    release = sums("table", built, 50, attributes=["b", "a"])
    assert release.parameters["attributes"] == "b, a"
    tally = 50 * np.array(messages(built)[0])
    rows: Any = release.draw(tallies(tuple(tally.tolist()), 50)).result["estimates"]
    assert [row["label"] for row in rows][:2] == ["b=l0, a=l0", "b=l0, a=l1"]
    one = sums("table", built, 50, attributes="b, a", cell="l2, l1")
    assert one.parameters == {"attributes": "b, a", "cell": "l2, l1", "epsilon": "1"}
    rows = one.draw(tallies(tuple(tally.tolist()), 50)).result["estimates"]
    assert [row["label"] for row in rows] == ["b=l2, a=l1"]


def test_texts_and_the_most_frequent_of_a_list() -> None:
    built = mechanism("hcms/1", 1, "8", tables=3, cells=8)
    given = context(built, 4000)
    tally = 4000 // 3 * np.array([[8, 0] * 8, [8, 0] * 8, [8, 0] * 8]).reshape(-1) // 8
    tally[0] += 4000 - tally.sum()
    listed = prepare("texts", {"texts": ["a", "b"], "epsilon": "1"}, given)
    rows: Any = listed.draw(tallies(tuple(tally.tolist()), 4000)).result["estimates"]
    assert [row["label"] for row in rows] == ["a", "b"]
    top = prepare("top-k", {"k": 1, "texts": "a, b", "epsilon": "1"}, given)
    drawn = top.draw(tallies(tuple(tally.tolist()), 4000)).result
    assert drawn["labels"] in (["a"], ["b"])
    assert top.parameters["texts"] == ["a", "b"]
    assert top.expected[-1].quantity == "true answers of each label below the best then left"
    assert top.typical == ()  # type: ignore[attr-defined]  # a selection
    assert top.score.unit == "true answers below the most frequent text"  # type: ignore[attr-defined]  # a selection


WAVE, GRR, PAIRS, HCMS = (
    RANGES["wave-4"], CHOICES["grr-4"], TABLES["pairs-2-3"], TEXTS["hcms-1"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "built", "arguments", "words"),
    [
        ("mean", SMALL["rr-2"], {}, "mean needs answers that are numbers"),
        ("mean", PAIRS, {}, "of type record: use histogram"),
        ("shares", NUMBERS["duchi-3"], {"ranges": "2"}, "duchi/1 allows only the mean: use mean"),
        ("shares", WAVE, {"ranges": "1"}, "2 to 4 equal parts here, got 1"),
        ("shares", WAVE, {"ranges": 9}, "2 to 4 equal parts here, got 9"),
        ("shares", WAVE, {"ranges": True}, "ranges must be 1 to 256 like 10..20"),
        ("shares", WAVE, {"ranges": []}, "ranges must be 1 to 256 like 10..20"),
        ("shares", WAVE, {"ranges": [7]}, "ranges must be like 10..20, got 7"),
        ("shares", WAVE, {"ranges": "1"+"..2"*2}, "ranges must be like 10..20"),
        ("shares", WAVE, {"ranges": "a..b"}, "ends among 0, 1, 2, 3, got 'a..b'"),
        ("shares", WAVE, {"ranges": "0.5..1"}, "ends among 0, 1, 2, 3, got '0.5..1'"),
        ("shares", WAVE, {"ranges": "1..4"}, "ends among 0, 1, 2, 3, got '1..4'"),
        ("shares", WAVE, {"ranges": "2..1"}, "must rise and not contain all numbers"),
        ("shares", WAVE, {"ranges": "0..3"}, "the share of all is known without a release"),
        ("shares", WAVE, {"ranges": "0..1, 0..1"}, "ranges must each be named once"),
        ("table", GRR, {"attributes": "a"}, "table needs answers that are records"),
        ("table", PAIRS, {"attributes": 3}, "attributes must be names between commas, got 3"),
        ("table", PAIRS, {"attributes": "z"}, "a table must be of attributes among a, b, got 'z'"),
        ("table", TABLES["pairs-2-2-3"], {"attributes": "a, b, c"}, "a table must be of at most 2"),
        ("table", PAIRS, {"attributes": "a, b", "cell": "l0"}, "one label of each of 2 attributes"),
        ("table", PAIRS, {"attributes": "a", "cell": "no"}, "a label of a, l0, l1: got 'no'"),
        ("texts", GRR, {"texts": "a"}, "texts needs text answers"),
        ("texts", HCMS, {"texts": []}, "texts must be a public list of 1 to 256 texts"),
        ("top-k", HCMS, {"k": 1}, "got '': a release does not search for texts"),
        ("texts", HCMS, {"texts": "a, a"}, "texts must each be listed once"),
        ("texts", HCMS, {"texts": "ab"}, "each of texts must be 1 to 1 bytes of UTF-8, got 'ab'"),
        ("texts", HCMS, {"texts": [7]}, "each of texts must be a text, got 7"),
        ("top-k", HCMS, {"k": 1, "texts": "a"}, "at least 2 to choose from, got 1"),
        ("top-k", GRR, {"k": 1, "texts": "a"}, "texts needs a collection of texts"),
        ("histogram", NUMBERS["duchi-3"], {}, "does not have: use mean"),
        ("histogram", WAVE, {}, "does not have: use mean, shares, median"),
        ("exponential", PAIRS, {}, "pairs/1 does not have: use table"),
        ("histogram", HCMS, {}, "hcms/1 does not have: use texts or top-k"),
        ("median", NUMBERS["duchi-3"], {"delta": "1e-6"}, "does not have: use mean"),
    ],
)  # fmt: skip
def test_what_is_no_request_says_what_would_be_one(
    kind: str, built: Mechanism, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        prepare(kind, {**arguments, "epsilon": "1"}, context(built, 10, numbers=True))
    assert words in str(refused.value)


def test_more_sums_and_cells_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = "deniable_aggregator.releases.kinds.number_readings.MOST_NUMBERS"
    monkeypatch.setattr(readings, 8)
    with pytest.raises(ParameterError, match="shares takes at most 1 sums of haar/1 here, got 2"):
        sums("shares", RANGES["haar-4"], 10, ranges="2")
    many = replace(context(CHOICES["grr-4"], 10), domain=record(40, 40))
    with pytest.raises(ParameterError, match="at most 1,024 cells, got 1,600"):
        prepare("table", {"attributes": "a, b", "epsilon": "1"}, many)


def test_texts_of_a_mechanism_that_knows_no_weights_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = "deniable_aggregator.releases.kinds.text_lists.PublicTexts"
    monkeypatch.setattr(lists, Number)
    with pytest.raises(ParameterError, match="not available for hcms/1"):
        sums("texts", TEXTS["hcms-1"], 10, texts="a")
