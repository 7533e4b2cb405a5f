"""Typical errors: simulated from public facts, equal for equal requests, close to what is seen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.typical import REQUESTS, SHAPES, seen
from benchmarks.typical import context as of_choices
from deniable_aggregator.releases.kinds import error_simulation, prepare
from deniable_aggregator.releases.kinds.error_simulation import Population, worst
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.selection_errors import (
    NoisySelection,
    noisy_selection_of,
    populations_of,
)
from deniable_aggregator.releases.request import has_typical_errors
from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    TopK,
    privacy_parameters,
)
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.randomness.coins import Coins
from support.builders.release_contexts import context, tallies
from support.builders.small_mechanisms import CHOICES, SMALL, mechanism
from support.tiers import by_tier, grid, rows

KEYED = b"typical errors"
SLOW = {"sampled-1-of-3", "sampled-2-of-2-chain", "sampled-2-of-3"}
"""Seven to twenty seconds of draws each."""


def typical(name: str, arguments: Mapping[str, object], given: Any) -> Any:
    release: Any = prepare(name, arguments, given)
    return release.typical


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer runs; the exhaustive tier has all."""
    runs = by_tier(error_simulation.FEWEST_RUNS, error_simulation.MOST_RUNS)
    monkeypatch.setattr(error_simulation, "MOST_RUNS", runs)


@pytest.mark.deeper
@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("title", REQUESTS)
def test_the_same_request_has_the_same_typical_error(title: str) -> None:
    name, arguments = REQUESTS[title]
    given = of_choices(5, 3_000, "2")
    first = typical(name, arguments, given)
    assert typical(name, {**arguments, "epsilon": f"0{arguments['epsilon']}"}, given) == first
    assert typical(name, arguments, of_choices(5, 30_000, "2")) != first


@pytest.mark.parametrize("title", REQUESTS)
def test_a_typical_error_is_below_the_bound(title: str) -> None:
    name, arguments = REQUESTS[title]
    release: Any = prepare(name, arguments, of_choices(20, 20_000, "1"))
    [error] = release.typical
    assert 0 <= error.median <= error.p95 < release.expected[-1].upper
    assert error.runs == 200


def test_tallies_change_no_typical_error() -> None:
    release: Any = prepare("mwem", {"workload": "points", "epsilon": "1"}, of_choices(4, 400, "1"))
    before = release.typical
    for counts in [(400, 0, 0, 0), (100, 100, 100, 100)]:
        release.draw(tallies(counts, 400))
        assert release.typical == before


@pytest.mark.statistical
@pytest.mark.parametrize("shape", grid(SHAPES, by_default=list(SHAPES)[::2], long=SHAPES))
@pytest.mark.parametrize("title", REQUESTS)
def test_errors_seen_are_within_one_and_a_half_typical_ones(title: str, shape: str) -> None:
    """At most 5% of 40 errors pass p95 if it is right: above 15 has probability below 1e-9.

    With 20 labels the largest 95% quantile of these shapes is 1.25 times p95.
    """
    name, arguments = REQUESTS[title]
    given = of_choices(20, 20_000, "1")
    [error] = typical(name, arguments, given)
    off = seen(name, arguments, given, shape, 40)
    assert (off > 1.5 * error.p95).sum() <= 15


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["mwem", "queries"])
def test_errors_of_the_worst_made_up_population_are_the_typical_ones(name: str) -> None:
    """The median of 100 errors lies between the 20% and 80% quantiles but with 1e-9.

    1/rank² is the worst of the populations here, or within a fifth of it.
    """
    request = {"workload": "prefixes"} if name == "mwem" else {}
    given = of_choices(20, 20_000, "1")
    [error] = typical(name, {"epsilon": "2", **request}, given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SHAPES, "worst", lambda rank: rank**-2.0)
        off = seen(name, {"epsilon": "2", **request}, given, "worst", 100)
    assert error.median / 1.5 < np.median(off) < error.p95 * 1.2


@pytest.mark.statistical
@pytest.mark.parametrize("name", grid(sorted(SMALL), by_default=SMALL.keys() - SLOW, long=SLOW))
def test_simulated_readings_have_the_spread_of_real_ones(name: str) -> None:
    """Variances of 4,000 real and 4,000 simulated sums differ by less than 20%: 6.3 deviations.

    A chain here has one report a device, so its coins are its own.
    """
    built, n, runs = SMALL[name], 300, 4_000
    label_counts = LabelCounts.of(context(built, n, repeat="once"))
    labels, draws = built.domain_size, generator()
    noise = np.array([draws.standard_normal(labels) for _ in range(runs)])
    signals = Population.steep(labels, 0).signals(label_counts, noise)
    values = np.eye(labels, dtype=np.int64) if "bits" in built.domain_types else np.arange(labels)
    each = np.full(labels, n // labels)
    real = [
        label_counts(simulated_tally(built, values, each, draws=draws)).astype(float)
        for _ in range(runs)
    ]
    seen_variance = np.var(np.array(real), axis=0)
    np.testing.assert_allclose(np.var(signals, axis=0), seen_variance, rtol=0.2)


PICKS = {
    "exponential": Exponential(privacy_parameters(epsilon=1, sensitivity=2)),
    "geometric": NoisyMax(
        privacy_parameters(epsilon=1, sensitivity=2), NoiseDistribution.GEOMETRIC
    ),
    "exponential noise": NoisyMax(
        privacy_parameters(epsilon=1, sensitivity=2), NoiseDistribution.EXPONENTIAL
    ),
    "gumbel": NoisyMax(privacy_parameters(epsilon=1, sensitivity=2), NoiseDistribution.GUMBEL),
    "top-k": TopK(privacy_parameters(epsilon=1, sensitivity=2), 2),
}


@pytest.mark.parametrize("name", PICKS)
def test_simulated_picks_have_the_certified_law(name: str) -> None:
    """20,000 picks by keyed coins, each outcome within 5.5 standard deviations of its chance.

    Scores that tie are told apart by place, where geometric noise is drawn in floats: no scores
    here tie by more than their noise can, so the difference is below 1%.
    """
    scores, runs = np.array([0, 3, 7, 4]), 20_000
    selector: Any = PICKS[name]
    drawn = noisy_selection_of(selector).drawn(
        np.tile(scores.astype(float), (runs, 1)), Coins.derive(KEYED)
    )
    law = selector.pmf(scores)
    for outcome, chance in zip(law.outcomes, law.lower, strict=True):
        wanted = np.array(outcome if isinstance(outcome, tuple) else (outcome,))
        often, p = float((drawn == wanted).all(axis=1).mean()), float(chance)
        tie = 0.01 if name == "geometric" else 0.0
        assert abs(often - p) < 5.5 * np.sqrt(p * (1 - p) / runs) + tie


def test_an_unknown_selector_is_an_error() -> None:
    with pytest.raises(TypeError, match="no noise is known"):
        noisy_selection_of(object())


LARGE: dict[str, tuple[str, dict[str, object], int]] = {
    "queries": ("queries", {"epsilon": "1"}, 4000),
    "mwem": ("mwem", {"epsilon": "1", "workload": "prefixes"}, 2000),
    "quantile": ("exponential", {"epsilon": "1", "score": "quantile"}, 4000),
    "top-k": ("top-k", {"epsilon": "1", "k": 1000}, 4000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", grid(LARGE, by_default=["quantile"]))
def test_a_simulation_takes_seconds_of_work_at_most(name: str) -> None:
    """Processor time of this process; a second where the machine is idle."""
    family, arguments, labels = LARGE[name]
    release: Any = prepare(family, arguments, context(mechanism("grr/1", labels), 10**7))
    before = time.process_time()
    assert len(release.typical) == (name != "top-k")
    assert time.process_time() - before < 6


@pytest.mark.slow
@pytest.mark.deeper
@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("name", grid(sorted(CHOICES), by_default=sorted(CHOICES)[::4]))
def test_every_mechanism_of_choices_has_typical_errors(name: str) -> None:
    given = context(CHOICES[name], 10_000)
    for family, more in [("mwem", {"workload": "points"}), ("queries", {}), ("noisy-max", {})]:
        [error] = typical(family, {"epsilon": "1", **more}, given)
        assert np.isfinite([error.median, error.p95]).all()


PRICED = ("0.50", "1", "2", "3.50", "9")
SCORES: dict[str, tuple[str, dict[str, object]]] = {
    "threshold": ("exponential", {"score": "threshold", "level": "0.3"}),
    "quantile": ("exponential", {"score": "quantile", "quantile": "0.9"}),
    "revenue": ("noisy-max", {"score": "revenue"}),
    "price": ("price", {"ratio": "1.9"}),
    "mode": ("exponential", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon"),
    rows(product([300, 100_000], ["0.5", "4"]), by_default=[(100_000, "4")]),
)
@pytest.mark.parametrize("name", SCORES)
def test_no_selection_is_said_to_be_never_off(name: str, n: int, epsilon: str) -> None:
    """For each score some simulated people are hard to distinguish from others."""
    family, more = SCORES[name]
    given = context(mechanism("grr/1", 5, epsilon), n, labels=PRICED)
    release: Any = prepare(family, {"epsilon": "1", **more}, given)
    [error] = release.typical
    assert 0 < error.p95 < release.expected[-1].upper


@pytest.mark.parametrize("name", SCORES)
def test_made_up_people_have_one_label_each(name: str) -> None:
    family, more = SCORES[name]
    release: Any = prepare(
        family, {"epsilon": "1", **more}, context(mechanism("grr/1", 5), 300, labels=PRICED)
    )
    people = populations_of(release.score)
    assert len({each.name for each in people}) == len(people)
    for each in people:
        assert each.shares.min() >= 0
        assert each.shares.sum() == pytest.approx(1)


def test_asking_whether_there_are_typical_errors_simulates_nothing() -> None:
    class Simulated:
        @property
        def typical(self) -> object:
            raise AssertionError("this takes seconds")

    assert has_typical_errors(cast("Any", Simulated()))
    assert not has_typical_errors(cast("Any", object()))


def test_without_runs_nothing_is_simulated() -> None:
    given = of_choices(5, 3_000, "1")
    assert worst("error", given, {}, runs=0, populations=(), errors=never) == ()


def never(people: Population, signals: Any, coins: Coins) -> Any:
    raise AssertionError("nothing may be simulated")


def test_a_pick_of_one_is_the_first_of_two() -> None:
    levels = np.arange(12.0).reshape(3, 4)
    one = NoisySelection(NoiseDistribution.GUMBEL, Fraction(1)).drawn(levels, Coins.derive(KEYED))
    two = NoisySelection(NoiseDistribution.GUMBEL, Fraction(1), 2).drawn(
        levels, Coins.derive(KEYED)
    )
    assert (one[:, 0] == two[:, 0]).all()


def test_a_bar_of_1_is_not_split_into_parts_that_it_does_not_bound() -> None:
    arguments = {"workload": "prefixes", "epsilon": "1"}
    release: Any = prepare("mwem", arguments, of_choices(5, 500, "1"))
    assert [(bar.lower, bar.upper) for bar in release.expected] == [(0.0, 1.0)]
