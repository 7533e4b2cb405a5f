"""Sums of frequencies by every mechanism that supports labels: moments by enumeration, coverage."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_estimators.inference import label_sums, second_moments
from deniable_estimators.inference.channel import Floats
from deniable_estimators.inference.functionals import LinearEstimator
from deniable_estimators.inference.quantities import mean, quantiles, ranges
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.builders.small_mechanisms import (
    CHOICES,
)
from support.oracles.message_laws import MessageLaw, generator
from support.oracles.number_laws import SHAPES, scale
from support.tiers import rows

SEVERAL = {name: built for name, built in CHOICES.items() if built.domain_size > 2}
ROWS = {
    3: np.array([[0, 0.5, 1], [1, 1, 0], [0.2, 0, 0.7]]),
    4: np.array([[0, 1 / 3, 2 / 3, 1], [0, 1, 1, 0], [1, 0, 0.5, 0]]),
}
NUMBERS = [
    ("affine/1", {}),
    ("cyclic/1", {}),
    ("grr/1", {}),
    ("hadamard/1", {}),
    ("oue/1", {}),
    ("projective/1", {}),
    ("loloha/1", {}),
    ("subset/1", {"subset_size": 5}),
    ("sue/1", {}),
]


def linear(built: Mechanism, repeat: str | None = None) -> Any:
    of = estimator_for(built, repeat)
    assert isinstance(of, LinearEstimator)
    return of


def truth(built: Mechanism) -> Floats:
    weights = np.arange(1.0, built.domain_size + 1)
    return np.asarray(weights / weights.sum())


def expected_tally(law: MessageLaw, shares: Floats, n: int) -> Any:
    """The mean of a tally of so many reports, which rounding leaves exact but for 10^−12."""
    population = {v: Fraction(float(f)) for v, f in zip(law.inputs, shares, strict=True)}
    chances = np.array([float(c) for c in law.probabilities(population)])
    counts = np.rint(chances * n).astype(np.int64)
    counts[0] += n - counts.sum()
    return counts @ law.tallies


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_sums_are_unbiased_and_their_error_is_that_of_one_message(name: str) -> None:
    law, rows = MessageLaw(SEVERAL[name]), ROWS[SEVERAL[name].domain_size]
    of, shares = linear(law.mechanism), truth(SEVERAL[name])
    values = np.array([of.functionals(rows, tally, 1).values for tally in law.tallies])
    chances = np.array([[float(law.mechanism.pmf(v)[m]) for m in law.messages] for v in law.inputs])
    assert chances @ values == pytest.approx(rows.T, abs=1e-9)
    result = shares @ chances
    exact = result @ values**2 - (result @ values) ** 2
    n = 10**12
    errors = of.functionals(rows, expected_tally(law, shares, n), n).std_errors
    assert errors**2 * n == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_second_moments_of_supports_are_those_of_all_messages(name: str) -> None:
    law, rows = MessageLaw(SEVERAL[name]), ROWS[SEVERAL[name].domain_size]
    if law.mechanism.id not in {"affine/1", "oue/1", "subset/1", "sue/1"}:
        return
    of = linear(law.mechanism)
    scores = np.array([of.functionals(rows, tally, 1).values for tally in law.tallies])
    actual = second_moments.second_moments(law.estimator, law.mechanism, rows)
    for value in law.inputs:
        pmf = law.mechanism.pmf(value)
        chances = np.array([float(pmf[message]) for message in law.messages])
        assert actual[:, value] == pytest.approx(chances @ scores**2, rel=1e-9)
    low, high = second_moments.scores_range(law.mechanism, rows)
    assert (low <= scores.min(axis=0) + 1e-12).all()
    assert (high >= scores.max(axis=0) - 1e-12).all()


def test_where_messages_are_too_many_to_sum_a_design_bounds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built, rows = build("affine/1", domain_size=16, epsilon="2"), np.linspace(0, 1, 16)[None, :]
    exact = second_moments.second_moments(estimator_for(built), built, rows)
    monkeypatch.setattr(second_moments, "_MOST_NUMBERS", 0)
    bound = second_moments.second_moments(estimator_for(built), built, rows)
    assert (bound >= exact).all()
    assert (bound <= 5 * exact).all()


@pytest.mark.parametrize("name", sorted(n for n in SEVERAL if n.endswith("-chain")))
def test_reports_of_one_permanent_answer_have_the_covariance_that_is_told(name: str) -> None:
    """Two reports of one answer: E[φφ'] − θ² over all answers, by the chain's own history."""
    law, rows = MessageLaw(SEVERAL[name]), ROWS[SEVERAL[name].domain_size]
    chain, shares, n = law.mechanism, truth(SEVERAL[name]), 10**12
    of = linear(chain)
    scores = {
        message: of.functionals(rows, tally, 1).values
        for message, tally in zip(law.messages, law.tallies, strict=True)
    }
    assert isinstance(chain, MemoizedChain)
    product = np.zeros(len(rows))
    for value, share in zip(law.inputs, shares, strict=True):
        for (one, other), chance in chain.pmf_history((value, value)).items():
            product += share * float(chance) * scores[one] * scores[other]
    tally = expected_tally(law, shares, n)
    once, twice = (of.functionals(rows, tally, n, epochs=T).std_errors ** 2 * n for T in (1, 2))
    assert twice - once == pytest.approx(product - (rows @ shares) ** 2, rel=1e-4)


@pytest.mark.parametrize(("id", "more"), NUMBERS)
def test_the_distribution_function_is_that_of_sums_over_all_beginnings(
    id: str, more: dict[str, int]
) -> None:
    law = MessageLaw(build(id, domain_size=9, epsilon="1", permanent=None, **more))
    (tally,) = law.draw_tallies({v: Fraction(1, 9) for v in range(9)}, 5000, 1)
    of = linear(law.mechanism)
    band = of.cumulative(tally, 5000).band
    steps = of.functionals(np.tril(np.ones((9, 9)))[:-1], tally, 5000)
    for name in ("values", "std_errors", "lower", "upper"):
        assert getattr(band, name) == pytest.approx(getattr(steps, name), abs=1e-9)


@pytest.mark.slow
def test_between_places_limits_are_those_of_the_neighbours_that_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = MessageLaw(build("hadamard/1", domain_size=64, epsilon="2"))
    (tally,) = law.draw_tallies({v: Fraction(1, 64) for v in range(64)}, 90_000, 1)
    of = linear(law.mechanism)
    every = of.cumulative(tally, 90_000)
    monkeypatch.setattr(label_sums, "_MOST_PLACES", 16)
    some = of.cumulative(tally, 90_000)
    assert some.band.values == pytest.approx(every.band.values)
    assert some.fitted == pytest.approx(every.fitted)
    places = label_sums._places(64, 126)
    assert some.band.lower[places] == pytest.approx(every.band.lower[places])
    assert some.band.lower[1] == some.band.lower[0]
    assert some.band.upper[1] == some.band.upper[places[1]]
    assert (np.diff(label_sums._places(10**6, 1 << 20)) > 0).all()


@pytest.mark.parametrize(("id", "more"), NUMBERS)
def test_no_reports_say_nothing(id: str, more: dict[str, int]) -> None:
    built = build(id, domain_size=7, epsilon="1", permanent=None, **more)
    of, domain = linear(built), scale(7)
    nothing = np.zeros(built.tally_size, dtype=np.int64)
    actual = [mean(of, domain, nothing, 0), *quantiles(of, domain, nothing, 0)]
    for quantity in actual:
        assert quantity is not None
        assert np.isnan(quantity.value)
        assert (quantity.lower, quantity.upper) == (0, 6)


@pytest.mark.statistical
@pytest.mark.parametrize(("id", "more"), NUMBERS)
@pytest.mark.parametrize(
    ("epsilon", "n"),
    rows(
        [("1", 60), ("4", 3000), ("2", 100_000)],
        by_default=lambda row: row[1] == 60,
        long=lambda row: row[1] > 60,
    ),
)
def test_mean_ranges_and_quantiles_are_covered_as_often_as_stated(
    id: str, more: dict[str, int], epsilon: str, n: int
) -> None:
    """200 runs at 95%: a right one misses more than 30 times with chance below 4e-8."""
    built = build(id, domain_size=11, epsilon=epsilon, permanent=None, **more)
    law, of, domain, shares = MessageLaw(built), linear(built), scale(11), SHAPES["bimodal"](11)
    population: dict[Any, Fraction] = {v: Fraction(float(f)) for v, f in enumerate(shares)}
    at = [float(np.searchsorted(np.cumsum(shares), t)) for t in (0.1, 0.5, 0.9)]
    wanted = [float(shares @ np.arange(11)), float(shares[3:7].sum()), *at]
    missed = np.zeros(len(wanted))
    for tally in law.draw_tallies(population, n, 200):
        actual = [
            mean(of, domain, tally, n),
            *ranges(of, domain, tally, n, [(3, 6)]),
            *quantiles(of, domain, tally, n, levels=(0.1, 0.5, 0.9)),
        ]
        for place, (quantity, value) in enumerate(zip(actual, wanted, strict=True)):
            assert quantity is not None
            missed[place] += not quantity.lower - 1e-9 <= value <= quantity.upper + 1e-9
    assert (missed <= 30).all()


@pytest.mark.statistical
@pytest.mark.parametrize("id", ["affine/1", "hadamard/1", "oue/1", "subset/1"])
def test_thirty_epochs_of_permanent_answers_are_covered_too(id: str) -> None:
    """200 runs at 95%: a right one misses more than 30 times with chance below 4e-8."""
    chain = build(id, domain_size=5, epsilon="2", permanent="4")
    law, first = MessageLaw(chain), MessageLaw(chain.first)  # type: ignore[attr-defined]  # only chains have it
    of, domain, shares, devices = linear(chain), scale(5), SHAPES["beta"](5), 3000
    population: dict[Any, Fraction] = {v: Fraction(float(f)) for v, f in enumerate(shares)}
    answers = np.array([float(c) for c in first.probabilities(population)])
    renewed = np.array(
        [
            [float(chain.first.rerandomized_pmf(m, chain.renewal_threshold).get(y, 0))  # type: ignore[attr-defined]  # only chains have it
             for y in law.messages]
            for m in first.messages
        ]
    )  # fmt: skip
    missed = 0
    for _ in range(200):
        kept = generator().multinomial(devices, answers / answers.sum())
        result = sum(
            generator().multinomial(30 * int(k), row / row.sum())
            for k, row in zip(kept, renewed, strict=True)
        )
        actual = mean(of, domain, result @ law.tallies, 30 * devices, epochs=30)
        assert actual is not None
        missed += not actual.lower <= shares @ np.arange(5) <= actual.upper
    assert missed <= 30
