"""Small databases over collections: the law by definition, privacy, public candidates, bars."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import ReleaseContext, ReleaseResult
from deniable_aggregator.releases.kinds.small_db import PreparedSmallDb
from deniable_central.pmf import Pmf
from deniable_shared.errors import DeniableError
from support.builders.release_contexts import Vector, all_tallies, context, neighbours, tallies
from support.builders.small_mechanisms import (
    CHOICES,
    SMALL,
    mechanism,
)
from support.oracles.central_queries import binomial_tail
from support.oracles.message_laws import MessageLaw
from support.oracles.neighbour_pmfs import (
    check_epsilon_is_exact,
    check_pure,
)
from support.oracles.selection_checks import FALSE_ALARM, check_follows
from support.tiers import rows

LISTED = [{"labels": ["label 0"]}, {"labels": ["label 1", "label 0"]}]


def asked(given: ReleaseContext, **more: object) -> PreparedSmallDb:
    arguments: dict[str, object] = {"workload": "points", "alpha": "0.7", "epsilon": "2", **more}
    pmf = prepare("small-db", arguments, given)
    assert isinstance(pmf, PreparedSmallDb)
    return pmf


def law_of(release: PreparedSmallDb, n: int) -> Callable[[Vector], Pmf[Any]]:
    return lambda counts: release.pmf(tallies(counts, n))


WORKLOADS: dict[str, object] = {"points": "points", "prefixes": "prefixes", "sets": LISTED}
LAWS = list(product(sorted(CHOICES), WORKLOADS))


@pytest.mark.parametrize(("name", "workload"), rows(LAWS, by_default=LAWS[::4]))
def test_the_law_is_the_definitions(name: str, workload: str) -> None:
    built, n = CHOICES[name], 3
    release = asked(context(built, n), workload=WORKLOADS[workload])
    for counts in sorted(all_tallies(built, n))[::9]:
        pmf = release.pmf(tallies(counts, n))
        by_rows = dict(zip(pmf.outcomes, pmf.probabilities, strict=True))
        expected = by_definition(release, counts)
        assert by_rows.keys() == expected.keys()
        for result, chance in expected.items():
            assert by_rows[result] == pytest.approx(chance, rel=1e-9)


def by_definition(release: PreparedSmallDb, counts: Vector) -> dict[tuple[int, ...], float]:
    """e^(−ε/(2mΔ) · max_f |m·(A·c − ⌊nqΣf⌉) − ⌊n(p − q)Σ_rows f⌉|), normalised.

    c says how many reports support each label, Δ how far a report moves the widest query.
    """
    m, queries = release.size, release.label_sets.workload.matrix
    law = MessageLaw(release.context.mechanism)
    answers = law.supports(law.tallies) @ queries.T
    move = max(1, int(np.ptp(answers, axis=0).max()))
    supports = tuple(law.supports(np.array(counts)).tolist())
    weights = {
        rows: math.exp(
            -Fraction(2, 2 * m * move) * _worst(release.context, queries.tolist(), supports, rows)
        )
        for rows in combinations_with_replacement(range(law.labels), m)
    }
    return {rows: weight / sum(weights.values()) for rows, weight in weights.items()}


def _worst(
    given: ReleaseContext, queries: Sequence[Sequence[int]], counts: Vector, rows: tuple[int, ...]
) -> int:
    p, q, n = given.mechanism.p, given.mechanism.q, given.n
    raw = [
        sum(a * c for a, c in zip(query, counts, strict=True)) - round(n * q * sum(query))
        for query in queries
    ]
    answers = [round(n * (p - q) * sum(query[v] for v in rows)) for query in queries]
    return max(abs(len(rows) * r - a) for r, a in zip(raw, answers, strict=True))


@pytest.mark.parametrize("workload", ["points", "prefixes", LISTED])
@pytest.mark.parametrize("name", ["grr-2", "grr-4", "grr-chain"])
def test_no_report_replaced_is_told_by_more_than_epsilon(name: str, workload: object) -> None:
    for epsilon in ("0.5", "8"):
        release = asked(context(SMALL[name], 3), workload=workload, epsilon=epsilon)
        check_pure(law_of(release, 3), neighbours(SMALL[name], 3), release.guarantee)


@pytest.mark.slow
def test_epsilon_is_reached_so_no_noise_is_wasted() -> None:
    release = asked(context(mechanism("grr/1", 2, "20"), 4000), alpha="0.1", epsilon="1")
    pairs = [((2000, 2000), (2001, 1999)), ((2020, 1980), (2021, 1979))]
    check_epsilon_is_exact(law_of(release, 4000), pairs, release.guarantee)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_candidates_that_public_coins_drew_are_as_private_however_few(count: int) -> None:
    release = asked(context(SMALL["grr-4"], 3), candidates=count)

    def by_place(counts: Vector) -> Pmf[int]:
        pmf = release.pmf(tallies(counts, 3))
        return Pmf(tuple(range(count)), pmf.lower, pmf.upper)

    assert release.guarantee == asked(context(SMALL["grr-4"], 3)).guarantee
    check_pure(by_place, neighbours(SMALL["grr-4"], 3), release.guarantee)


def test_candidates_can_be_drawn_again_and_differ_between_requests() -> None:
    def drawn(**more: object) -> tuple[object, ...]:
        release = asked(context(SMALL["grr-4"], 3), **{"candidates": 50, **more})
        return release.pmf(tallies((1, 1, 1, 0), 3)).outcomes

    assert drawn() == drawn(candidates="50")
    assert len({drawn(), drawn(epsilon="1"), drawn(workload="prefixes")}) == 3


@pytest.mark.slow
def test_neighbours_give_releases_equal_in_every_field_but_the_draw() -> None:
    release, results = asked(context(SMALL["grr-4"], 3)), dict[str, ReleaseResult]()
    for pair in list(neighbours(SMALL["grr-4"], 3))[:40]:
        for counts in pair:
            drawn = release.draw(tallies(counts, 3))
            assert drawn.error_bars == release.expected
            assert results.setdefault(json.dumps(drawn.result["rows"]), drawn) == drawn


@pytest.mark.statistical
@pytest.mark.parametrize("candidates", ["all", "30"])
def test_draws_follow_the_stated_law(candidates: str) -> None:
    """2,000 draws, chi-square, rejected at 1e-6."""
    release = asked(context(SMALL["grr-2"], 6), candidates=candidates, alpha="0.3")
    pmf = release.pmf(tallies((4, 2), 6))
    sums: dict[tuple[int, ...], list[Fraction]] = {}
    for result, low, high in zip(pmf.outcomes, pmf.lower, pmf.upper, strict=True):
        ends = sums.setdefault(result, [Fraction(0), Fraction(0)])
        sums[result] = [ends[0] + low, ends[1] + high]
    law = Pmf(tuple(sums), *(tuple(ends[i] for ends in sums.values()) for i in (0, 1)))
    check_follows(lambda: _rows(release.draw(tallies((4, 2), 6))), law, draws=2000)


def _rows(drawn: ReleaseResult) -> tuple[int, ...]:
    held: Any = drawn.result["rows"]
    return tuple(int(one["label"][-1]) for one in held for _ in range(one["rows"]))


@pytest.mark.statistical
def test_answers_are_within_the_bar_of_the_truth() -> None:
    """200 collections miss at most 5% each: above 28 is below 1e-6."""
    built, n, truth = mechanism("grr/1", 4, "2"), 20_000, np.array([0.6, 0.3, 0.1, 0.0])
    release = asked(context(built, n), workload="intervals", alpha="0.25", epsilon="1")
    chances = float(built.q) + float(built.p - built.q) * truth
    draw, missed = np.random.default_rng(), 0  # noqa: TID251  (a population)
    for _ in range(200):
        counts = tuple(draw.multinomial(n, chances / chances.sum()).tolist())
        answers: Any = release.draw(tallies(counts, n)).result["answers"]
        true = release.label_sets.workload.values(truth)
        outside = [
            not one["lower"] <= share <= one["upper"]
            for one, share in zip(answers, true, strict=True)
        ]
        missed += any(outside)
    assert release.expected[-1].upper is not None
    assert release.expected[-1].upper < 0.35
    assert binomial_tail(200, 0.05, missed) > FALSE_ALARM


def test_parts_of_the_bar_add_up_and_epsilon_moves_only_the_central() -> None:
    given = context(SMALL["grr-4"], 10**6)
    near, far = (asked(given, epsilon=epsilon, alpha="0.3").expected for epsilon in ("1", "2"))
    assert near[0].upper == pytest.approx(far[0].upper)
    for local, central, both in (near, far):
        assert (local.upper or 0) + (central.upper or 0) == pytest.approx(both.upper)


def test_drawn_candidates_promise_nothing_about_the_best_of_all() -> None:
    drawn = asked(context(SMALL["grr-4"], 10**6), candidates=50).draw(
        tallies((10**6, 0, 0, 0), 10**6)
    )
    assert drawn.error_bars[-1].quantity.endswith("above the best candidate's")
    answers: Any = drawn.result["answers"]
    assert all(one.keys() == {"labels", "share"} for one in answers)


REFUSED: list[tuple[str, int, dict[str, object], str]] = [
    ("grr/1", 64, {"alpha": "0.3"}, r"far too many candidates.*candidates = 100000.*or use mwem"),
    ("grr/1", 3, {"alpha": "0.03", "workload": "intervals"}, "too many to enumerate"),
    ("grr/1", 2, {"alpha": "0.001"}, r"at most 4,096 rows.*use larger alpha, or use mwem"),
    ("grr/1", 4, {"alpha": "0"}, r"decimal text in \(0, 1\]"),
    ("grr/1", 4, {"candidates": 0}, r"whole number in \[1, "),
    ("grr/1", 4, {"candidates": 10**9}, r"whole number in \[1, "),
    ("grr/1", 4, {"workload": "intervales"}, "did you mean intervals"),
    ("grr/1", 4, {"workload": []}, "1 to 4,096 sets"),
    ("grr/1", 4, {"workload": [{"labels": ["label 9"]}]}, "labels must be the collection's own"),
    ("grr/1", 4, {"workload": [{"labels": ["label 0", "label 0"]}]}, "each be named once"),
    ("grr/1", 4, {"workload": [{"label": "label 0"}]}, "a query must be"),
    ("grr/1", 4, {"workload": [{"labels": "label 0"}]}, "a list of at least 1 label"),
    ("grr/1", 4, {"workload": [{"labels": ["label 0"]}] * 2}, "each set of labels once"),
    ("grr/1", 3000, {}, "at most 4,194,304 entries"),
    ("rr/1", 3, {}, "one label of several.*use histogram"),
]


@pytest.mark.parametrize(("id", "labels", "more", "message"), REFUSED)
def test_what_is_no_request_is_refused_with_what_would_be_one(
    id: str, labels: int, more: dict[str, object], message: str
) -> None:
    with pytest.raises(DeniableError, match=message):
        asked(context(mechanism(id, labels), 1000), **more)


@pytest.mark.parametrize("workload", ["points", "prefixes", "intervals", LISTED])
def test_a_plan_has_one_spelling_that_reads_back_as_itself(workload: object) -> None:
    given = context(SMALL["grr-4"], 1000)
    first = asked(given, workload=workload, alpha="0.70")
    again = prepare("small-db", json.loads(json.dumps(dict(first.parameters))), given)
    assert again.parameters == first.parameters
    assert first.parameters["alpha"] == "0.7"
    json.dumps(dict(first.draw(tallies((400, 300, 200, 100), 1000)).result), allow_nan=False)
