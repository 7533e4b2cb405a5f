"""Quantiles of numbers from reports of ranges: exact privacy, right answers, error bars."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.releases.kinds import linear_reading, prepare
from deniable_aggregator.releases.kinds.number_scores import RangeQuantile
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.errors import ParameterError
from support.builders.release_contexts import context, neighbours, tallies
from support.builders.small_mechanisms import mechanism
from support.builders.small_readings import RANGES
from support.oracles.neighbour_pmfs import check_approximate, check_pure
from support.tiers import grid

HALF = Fraction(1, 2)


def law_of(release: Any, n: int) -> Any:
    return lambda counts: release.pmf(tallies(counts, n))


@pytest.mark.parametrize("name", sorted(RANGES))
@pytest.mark.parametrize("quantile", grid(["0.5", "0.9"], by_default=["0.9"]))
def test_no_report_replaced_is_told_by_more_than_epsilon(name: str, quantile: str) -> None:
    arguments = {"score": "quantile", "quantile": quantile, "epsilon": "1"}
    for kind, more in (("exponential", {}), ("noisy-max", {"noise": "exponential"})):
        release = prepare(kind, {**arguments, **more}, context(RANGES[name], 2))
        check_pure(law_of(release, 2), neighbours(RANGES[name], 2), release.guarantee)


@pytest.mark.parametrize("name", sorted(RANGES))
def test_a_stable_quantile_costs_epsilon_and_at_most_delta(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(linear_reading, "_GRID", 1 << 10)
    release = prepare("median", {"epsilon": "1", "delta": "0.01"}, context(RANGES[name], 2))
    check_approximate(law_of(release, 2), neighbours(RANGES[name], 2), release.guarantee)


@pytest.mark.parametrize("id", ["tree/1", "haar/1", "square-wave/1"])
def test_the_median_is_found_among_many_reports(id: str) -> None:
    built, n = mechanism(id, 16, "4"), 200_000
    people = np.array([n // 32] * 8 + [n // 2] + [n // 32 // 7] * 7)
    people[0] += n - people.sum()
    tally = simulated_tally(built, np.arange(16), people, draws=generator(2))
    given = context(built, n)
    for kind, more in (("exponential", {"score": "quantile"}), ("median", {"delta": "1e-6"})):
        release = prepare(kind, {"epsilon": "1", **more}, given)
        drawn = release.draw(tallies(tuple(tally.tolist()), n)).result
        assert abs(int(str(drawn["label"])) - 8) <= 1
        assert 0 < float(release.expected[-1].upper or 0) < n / 4
    assert release.parameters["quantile"] == "0.5"


def test_a_wave_says_how_far_answers_are_moved() -> None:
    score = RangeQuantile.of(context(mechanism("square-wave/1", 64), 10_000), HALF)
    assert score.blur > 0
    assert score.unit.endswith(f"answers moved by up to {score.blur / 2:g} steps")
    plain = RangeQuantile.of(context(mechanism("haar/1", 64), 10_000), HALF)
    assert plain.blur == 0
    assert plain.unit == "true answers from rank 1/2 of n"
    fresh = context(mechanism("square-wave/1", 64), 10_000, repeat="fresh", epochs=4)
    assert RangeQuantile.of(fresh, HALF).blur >= score.blur


def test_no_errors_are_simulated_for_them() -> None:
    release = prepare(
        "exponential", {"score": "quantile", "epsilon": "1"}, context(RANGES["tree-5"], 100)
    )
    assert release.typical == ()  # type: ignore[attr-defined]  # a selection


def test_more_values_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable_aggregator.releases.kinds.number_readings.MOST_NUMBERS", 8)
    with pytest.raises(ParameterError, match="quantile takes at most 1 sums of haar/1"):
        RangeQuantile.of(context(RANGES["haar-4"], 10), HALF)
