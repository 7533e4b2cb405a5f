"""What cohorts agree on: exact privacy of a report and of an installation, bars, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import (
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TallyPart,
)
from deniable_aggregator.releases.kinds.sample_aggregate import PreparedSampleAggregate
from deniable_central.accounting import Installation, group_guarantee, promise
from deniable_central.pmf import Pmf
from deniable_central.stability import SampleAggregate, agreement
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.release_contexts import Vector, context, messages
from support.builders.small_mechanisms import SMALL, mechanism
from support.oracles.central_queries import binomial_tail
from support.oracles.neighbour_pmfs import (
    check_approximate,
    check_delta_is_reached,
    check_epsilon_is_reached,
)
from support.oracles.selection_checks import FALSE_ALARM, check_follows
from support.tiers import grid

Groups = tuple[Vector, ...]
SIZES = (2, 1, 1)


def world(built: Mechanism, n: int = 4, cohorts: int = 3) -> ReleaseContext:
    return replace(context(built, n), cohorts=cohorts)


def asked(given: ReleaseContext, delta: str = "0.3", **more: object) -> PreparedSampleAggregate:
    arguments: Mapping[str, object] = {"epsilon": "1", "delta": delta, **more}
    release = prepare("sample-aggregate", arguments, given)
    assert isinstance(release, PreparedSampleAggregate)
    return release


def parted(groups: Groups, sizes: tuple[int, ...] = SIZES) -> Tallies:
    return Tallies(
        tuple(
            TallyPart(epoch=0, cohort=place, n=size, counts=np.array(counts, dtype=np.int64))
            for place, (counts, size) in enumerate(zip(groups, sizes, strict=True))
        )
    )


def sums(built: Mechanism, size: int) -> list[tuple[Vector, ...]]:
    """The reports of one cohort, in all ways."""
    return list(combinations_with_replacement(messages(built), size))


def pairs(
    built: Mechanism, replaced: int = 1, sizes: tuple[int, ...] = SIZES
) -> Iterator[tuple[Groups, Groups]]:
    """All pairs of collections that differ by a replaced report in this many cohorts."""
    seen = set()
    for cohorts in product(*(sums(built, size) for size in sizes)):
        for fresh in product(messages(built), repeat=replaced):
            changed = [
                (message, *group[1:]) for group, message in zip(cohorts, fresh, strict=False)
            ]
            pair = _tally(cohorts), _tally([*changed, *cohorts[replaced:]])
            if pair not in seen and pair[0] != pair[1]:
                seen.add(pair)
                yield pair


def _tally(cohorts: Any) -> Groups:
    return tuple(tuple(np.sum(group, axis=0).tolist()) for group in cohorts)


def law_of(release: PreparedSampleAggregate) -> Callable[[Groups], Pmf[Any]]:
    return lambda groups: release.pmf(parted(groups))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    grid(
        ["grr-2", "grr-4", "grr-chain", "rr-2", "sampled-1-of-2"],
        by_default=["grr-4", "grr-chain", "sampled-1-of-2"],
    ),
)
def test_no_report_replaced_is_told_by_more_than_epsilon_and_delta(name: str) -> None:
    release = asked(world(SMALL[name]))
    check_approximate(law_of(release), pairs(SMALL[name]), release.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("quantile", grid(["0.5", "0.9"], by_default=["0.5"]))
def test_nor_where_cohorts_are_asked_for_a_quantile(quantile: str) -> None:
    release = asked(world(SMALL["grr-4"]), answer="quantile", quantile=quantile)
    check_approximate(law_of(release), pairs(SMALL["grr-4"]), release.guarantee)


def test_delta_is_reached_so_no_answer_is_withheld_in_vain() -> None:
    release = asked(world(SMALL["grr-2"]))
    check_delta_is_reached(law_of(release), pairs(SMALL["grr-2"]), release.guarantee)


def test_two_reports_of_one_installation_have_the_guarantee_of_a_pair() -> None:
    built, sizes = SMALL["grr-2"], (1,) * 5
    release = asked(world(built, 5, 5), delta="0.1")
    group = group_guarantee(release.guarantee, 2)
    promised = promise(release.guarantee, Installation(2, Fraction(2)), read="releases")
    assert promised.installation == group
    together = list(pairs(built, replaced=2, sizes=sizes))

    def law(groups: Groups) -> Pmf[Any]:
        return release.pmf(parted(groups, sizes))

    check_approximate(law, together, group)
    check_approximate(law, pairs(built, sizes=sizes), release.guarantee)
    with pytest.raises(AssertionError):
        check_approximate(law, together, release.guarantee)


def test_distances_of_two_answers_do_not_help_a_single_report() -> None:
    release = asked(world(SMALL["grr-2"], cohorts=40), delta="0.1")
    double = SampleAggregate(release.test, overlap=2)

    def law(first: int) -> Pmf[Any]:
        return double.test.pmf(agreement([0] * first + [1] * (40 - first), overlap=2))

    check_epsilon_is_reached(law, [(k, k + 1) for k in range(20, 40)], release.guarantee)


def test_each_cohort_is_asked_for_its_debiased_answer() -> None:
    built = mechanism("grr/1", 4)
    groups = ((10, 2, 3, 1), (2, 9, 3, 1), (9, 1, 1, 8))
    mode = asked(world(built, 50)).proposal(parted(groups, (16, 15, 19)))
    assert (mode.answer, mode.distance) == (0, 1)
    low, high = ((400, 300, 200, 100), (100, 200, 300, 400))
    given = world(built, 3000)
    quantile = asked(given, answer="quantile").proposal(parted((low, low, high), (1000,) * 3))
    assert (quantile.answer, quantile.distance) == (0, 1)


def test_a_cohort_without_reports_has_no_answer() -> None:
    release = asked(world(SMALL["grr-2"], 3, 5))
    some = parted(((1, 0), (1, 0), (1, 0)), (1, 1, 1))
    with_empty = parted(((1, 0), (1, 0), (1, 0), (0, 0)), (1, 1, 1, 0))
    assert release.pmf(some) == release.pmf(with_empty)
    assert release.proposal(with_empty).distance == 2


def test_epochs_of_one_cohort_are_one_answer() -> None:
    release = asked(world(SMALL["grr-2"], 3, 5))
    counts = [np.array(c, dtype=np.int64) for c in ((2, 0), (0, 1))]
    halves = Tallies(tuple(TallyPart(e, 0, int(c.sum()), c) for e, c in enumerate(counts)))
    assert release.proposal(halves).distance == release.proposal(parted(((2, 1),), (3,))).distance


@pytest.mark.slow
def test_neighbours_give_releases_equal_in_every_field_but_the_draw() -> None:
    release, results = asked(world(SMALL["grr-4"])), dict[object, ReleaseResult]()
    for pair in list(pairs(SMALL["grr-4"]))[:60]:
        for groups in pair:
            drawn = release.draw(parted(groups))
            assert results.setdefault(drawn.result["index"], drawn) == drawn
    assert len(results) >= 2


@pytest.mark.statistical
def test_draws_follow_the_stated_law() -> None:
    """2,000 draws, chi-square, rejected at 1e-6."""
    release, groups = (
        asked(world(SMALL["grr-4"])),
        parted(((2, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0))),
    )

    def draw() -> Any:
        return release.draw(groups).result["index"]

    check_follows(draw, release.pmf(groups), draws=2000)


@pytest.mark.statistical
@pytest.mark.parametrize(("answer", "truth"), [("mode", 0.4), ("quantile", 0.3)])
def test_what_is_released_is_within_the_bar_of_the_truth(answer: str, truth: float) -> None:
    """200 collections of 20,000 reports miss at most 5% each: above 28 is below 1e-6."""
    built = mechanism("grr/1", 3, "2")
    given, draw = world(built, 20_000, 16), np.random.default_rng()  # noqa: TID251  (a population)
    release = asked(given, "1e-2", answer=answer)
    shares = np.array([truth, truth - 0.04, 1.04 - 2 * truth])
    chances = float(built.q) + float(built.p - built.q) * shares
    bar, missed, released = release.expected[0], 0, 0
    for _ in range(200):
        sizes = draw.multinomial(20_000, [1 / 16] * 16).tolist()
        groups = tuple(tuple(draw.multinomial(s, chances / chances.sum()).tolist()) for s in sizes)
        index = release.draw(parted(groups, tuple(sizes))).result["index"]
        if isinstance(index, int):
            released += 1
            missed += _off(answer, shares, index) > (bar.upper or 0.0)
    assert released > 20
    assert binomial_tail(200, 0.05, missed) > FALSE_ALARM


def _off(answer: str, shares: Any, index: int) -> float:
    if answer == "mode":
        return float(shares.max() - shares[index])
    below, upto = float(shares[:index].sum()), float(shares[: index + 1].sum())
    return max(0.0, below - 0.5, 0.5 - upto)


def test_the_bar_shrinks_with_reports_and_says_nothing_of_too_few() -> None:
    ends = [asked(world(SMALL["grr-4"], n, 64)).expected[0].upper for n in (100, 10**6, 10**8)]
    assert ends[0] == 1.0
    assert ends[1] is not None
    assert ends[2] is not None
    assert ends[1] > 9 * ends[2]


REFUSED: list[tuple[ReleaseContext, dict[str, object], str]] = [
    (context(SMALL["grr-4"], 9), {}, r"set cohorts = 64 in the manifest"),
    (world(SMALL["grr-4"]), {"answer": "median"}, "answer must not be 'median'"),
    (world(SMALL["grr-4"]), {"quantile": "0.9"}, "needs answer quantile"),
    (world(SMALL["rr-2"]), {"answer": "quantile"}, "labels in an order: use answer mode"),
    (world(SMALL["grr-4"]), {"delta": "1e-6"}, "at least 29 cohorts.*has 3"),
    (world(SMALL["grr-4"]), {"delta": "0"}, "delta must lie in"),
    (world(mechanism("rr/1", 1)), {}, "at least 2 labels"),
]


@pytest.mark.parametrize(("given", "more", "message"), REFUSED)
def test_what_is_no_request_is_refused_with_what_would_be_one(
    given: ReleaseContext, more: dict[str, object], message: str
) -> None:
    arguments: dict[str, object] = {"epsilon": "1", "delta": "0.3", **more}
    with pytest.raises(DeniableError, match=message):
        prepare("sample-aggregate", arguments, given)


def test_a_missing_delta_is_named() -> None:
    with pytest.raises(ParameterError, match="needs delta"):
        prepare("sample-aggregate", {"epsilon": "1"}, world(SMALL["grr-4"]))


def test_a_plan_has_one_spelling_that_reads_back_as_itself() -> None:
    given = world(SMALL["grr-4"])
    for more in ({}, {"answer": "quantile"}):
        first = asked(given, **more)
        again = prepare("sample-aggregate", first.parameters, given)
        assert again.parameters == first.parameters
