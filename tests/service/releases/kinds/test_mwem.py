"""Synthetic distributions over collections: privacy by enumeration, bars, requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.contract import ReleaseContext, ReleaseResult
from deniable_aggregator.releases.kinds.mwem import PreparedMwem
from deniable_aggregator.releases.kinds.randomized_counts import RandomizedCounts
from deniable_central.accounting import Installation
from deniable_central.pmf import Pmf
from deniable_central.queries import Mwem
from deniable_shared.domains import Number, Record
from deniable_shared.errors import DeniableError
from support.builders.release_contexts import PRICES, Vector, context, neighbours, tallies
from support.builders.small_mechanisms import (
    CHOICES,
    SMALL,
    mechanism,
)
from support.oracles.central_queries import binomial_tail
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import (
    check_epsilon_is_exact,
    check_pure,
)
from support.oracles.selection_checks import FALSE_ALARM
from support.tiers import grid

SEVERAL = {name: built for name, built in CHOICES.items() if built.id != "grr/1"}


def asked(given: ReleaseContext, **more: object) -> PreparedMwem:
    arguments: dict[str, object] = {"workload": "points", "epsilon": "2", **more}
    release = prepare("mwem", arguments, given)
    assert isinstance(release, PreparedMwem)
    return release


def law_of(release: PreparedMwem, reach: int) -> Callable[[Vector], Pmf[Any]]:
    def law(counts: Vector) -> Pmf[Any]:
        data = RandomizedCounts.of(release.context, tallies(counts, release.context.n))
        return mwem_pmf(release.linear, data, reach=reach)

    return law


@pytest.mark.parametrize("name", ["grr-2", "grr-4", "grr-chain"])
@pytest.mark.parametrize("epsilon", ["0.5", "6"])
def test_no_report_replaced_is_told_by_more_than_epsilon(name: str, epsilon: str) -> None:
    release = asked(context(SMALL[name], 3), rounds=1, epsilon=epsilon)
    check_pure(law_of(release, 5), neighbours(SMALL[name], 3), release.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("name", grid(sorted(SEVERAL), by_default=sorted(SEVERAL)[::5]))
def test_nor_where_a_report_supports_several_labels(name: str) -> None:
    given = context(SEVERAL[name], 2, labels=PRICES[: SEVERAL[name].domain_size])
    release = asked(given, rounds=1, workload="intervals")
    assert release.error.total >= asked(context(SMALL["grr-4"], 2), rounds=1).error.total
    check_pure(law_of(release, 3), neighbours(SEVERAL[name], 2), release.guarantee)


def test_nor_by_two_rounds_of_which_the_second_follows_the_first() -> None:
    release = asked(context(SMALL["grr-2"], 2), rounds=2)
    check_pure(law_of(release, 3), neighbours(SMALL["grr-2"], 2), release.guarantee)


def test_epsilon_is_reached_so_no_noise_is_wasted() -> None:
    release = asked(context(mechanism("grr/1", 4, "20"), 40), rounds=1, epsilon="8")
    pairs = [((15, 16, 8, 1), (15, 16, 9, 0))]  # the worst gets worse, another one better
    check_epsilon_is_exact(law_of(release, 4), pairs, release.guarantee)


def test_neighbours_give_releases_equal_in_every_field_but_the_draw() -> None:
    release, results = asked(context(SMALL["grr-2"], 3), rounds=1), dict[str, ReleaseResult]()
    for one, other in neighbours(SMALL["grr-2"], 3):
        for counts in (one, other) * 10:
            drawn = release.draw(tallies(counts, 3))
            assert drawn.error_bars == release.expected
            assert results.setdefault(json.dumps(drawn.result["measurements"]), drawn) == drawn


@pytest.mark.statistical
def test_answers_are_within_the_bar_of_the_truth() -> None:
    """200 collections miss at most 5% each: above 28 is below 1e-6."""
    built, n, truth = mechanism("grr/1", 8, "2"), 200_000, np.array([6, 3, 1, 0, 0, 0, 0, 0]) / 10
    release = asked(context(built, n), workload="intervals", epsilon="1")
    chances = float(built.q) + float(built.p - built.q) * truth
    draw, missed = np.random.default_rng(), 0  # noqa: TID251  (a population)
    true = release.label_sets.workload.values(truth)
    for _ in range(200):
        counts = tuple(draw.multinomial(n, chances / chances.sum()).tolist())
        answers: Any = release.draw(tallies(counts, n)).result["answers"]
        limits = np.array([(one["lower"], one["upper"]) for one in answers])
        missed += bool(((true < limits[:, 0]) | (limits[:, 1] < true)).any())
    assert (release.expected[-1].upper or 1.0) < 0.25
    assert binomial_tail(200, 0.05, missed) > FALSE_ALARM


@pytest.mark.slow
def test_the_distribution_is_one_and_answers_are_read_off_it() -> None:
    release = asked(context(mechanism("grr/1", 4, "4"), 10**6), workload="prefixes")
    result: Mapping[str, Any] = release.draw(tallies((70, 10, 10, 10), 10**6)).result
    shares = [one["share"] for one in result["distribution"]]
    assert sum(shares) == pytest.approx(1)
    assert [one["to"] for one in result["answers"]] == ["label 0", "label 1", "label 2"]
    for place, one in enumerate(result["answers"]):
        assert one["share"] == pytest.approx(sum(shares[: place + 1]))
        assert one["lower"] <= one["share"] <= one["upper"]
    json.dumps(result, allow_nan=False)


def test_best_rounds_are_spelled_out_and_are_the_best_of_all_tried() -> None:
    given = context(SMALL["grr-4"], 10**6)
    best = asked(given)
    again = prepare("mwem", best.parameters, given)
    assert again.parameters == best.parameters
    ends = [asked(given, rounds=rounds).error.total for rounds in (1, 5, 50, 500)]
    assert best.error.total <= min(ends)


def test_the_bar_counts_what_the_devices_did_and_a_device_for_each_epoch() -> None:
    built, n = SMALL["grr-chain"], 10**6
    once, often = (asked(context(built, n, epochs=epochs), rounds=50).error for epochs in (1, 4))
    assert once.central == often.central
    assert often.total - often.central > 1.9 * (once.total - once.central)


def test_guarantee_is_that_of_the_library() -> None:
    release = asked(context(SMALL["grr-4"], 1000), rounds=7, epsilon="0.5")
    library = Mwem.of(release.label_sets.workload, rounds=7, epsilon="0.5")
    assert release.guarantee == library.guarantee
    assert release.guarantee.epsilon == Fraction(1, 2)


def ordered_facts(domain: Any) -> ReleaseContext:
    built = mechanism("grr/1", domain.size)
    return ReleaseContext(
        "q-aaaaaa", domain, built, "once", "live", (0,), 1000, 1, Installation.once(report="1")
    )


def test_numbers_have_intervals_and_records_have_points_and_lists() -> None:
    number = Number(Fraction(0), Fraction(3), Fraction(1))
    named: Any = asked(ordered_facts(number), workload="intervals").label_sets.names
    assert named[1] == {"from": "0", "to": "1"}
    record = Record((("os", ("a", "b")), ("beta", ("yes", "no"))))
    asked(ordered_facts(record), workload=[{"labels": ["os=a, beta=yes", "os=b, beta=yes"]}])
    release = asked(ordered_facts(record), workload="tables")
    assert [name["cell"] for name in release.label_sets.names] == list(record.labels)
    with pytest.raises(DeniableError, match="tables need answers that are records"):
        asked(context(mechanism("grr/1", 4), 100), workload="tables")
    with pytest.raises(DeniableError, match="a record does not have: use points"):
        asked(ordered_facts(record), workload="prefixes")


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("grr-4", {"rounds": 0}, r"whole number in \[1, 1,000\]"),
    ("grr-4", {"rounds": "many"}, "rounds must be a whole number"),
    ("grr-4", {"epsilon": "0.000001"}, "epsilon must be at least 0.000002"),
    ("grr-4", {"epsilon": "0.00002", "rounds": 11}, r"\[1, 10\]"),
    ("rr-2", {}, "one label of several.*use histogram"),
]


@pytest.mark.parametrize(("name", "more", "message"), REFUSED)
def test_what_is_no_request_is_refused_with_what_would_be_one(
    name: str, more: dict[str, object], message: str
) -> None:
    with pytest.raises(DeniableError, match=message):
        asked(context(SMALL[name], 1000), **more)
