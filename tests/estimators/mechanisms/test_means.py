"""Estimates of a mean: unbiased, covered as claimed at small and large n, honest over epochs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.randomness.coins import Coins
from support.oracles.message_laws import generator
from support.tiers import grid

IDS = ("duchi/1", "discrete-piecewise/1", "optimal-mean/1")
STEPS = 10
Counts = np.ndarray[Any, Any]


def law(mechanism: Mechanism, value: int) -> Counts:
    chances = mechanism.pmf(value)
    return np.array([float(chances[y]) for y in sorted(chances)])


def tally_of(mechanism: Mechanism, drawn: Counts) -> Counts:
    """The tally of a histogram of payloads."""
    return drawn[1:] if mechanism.id == "duchi/1" else drawn


@pytest.mark.parametrize("id", IDS)
def test_a_tally_adds_up_over_any_split(id: str) -> None:
    mechanism = build(id, domain_size=STEPS + 1, epsilon="2")
    of = estimator_for(mechanism)
    rows = [mechanism.randomize(k % 11, Coins.derive(b"k", bytes([k]))) for k in range(200)]
    payloads = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, 1)
    assert (of.tally(payloads) == of.tally(payloads[:70]) + of.tally(payloads[70:])).all()
    assert (of.tally(payloads[:0]) == 0).all()
    with pytest.raises(DecodeError):
        of.tally(np.full((1, 1), 200, dtype=np.uint8))


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("value", [0, 3, STEPS])
def test_the_expected_tally_gives_the_mean_itself(id: str, value: int) -> None:
    mechanism = build(id, domain_size=STEPS + 1, epsilon="1")
    of = estimator_for(mechanism)
    n = 10**12
    expected = np.floor(law(mechanism, value) * n).astype(np.int64)
    expected[0] += n - expected.sum()
    estimate = of.estimate(tally_of(mechanism, expected), n)
    assert of.estimand == "mean"
    assert estimate.frequencies[0] == pytest.approx(value / STEPS, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("epsilon", grid(["0.5", "4"], by_default=["0.5"], long=["4"]))
@pytest.mark.parametrize("n", grid([30, 3000, 300_000], by_default=[30, 300_000], long=[3000]))
@pytest.mark.parametrize(
    "values",
    grid([(0,), (0, STEPS), (2, 3)], by_default=[(0,), (2, 3)], long=[(0, STEPS)]),
    ids=str,
)
def test_intervals_cover_at_least_as_often_as_they_say(
    id: str, epsilon: str, n: int, values: tuple[int, ...]
) -> None:
    """2,000 runs at 95%: a right one misses more than 155 times with chance below 1e-6."""
    mechanism = build(id, domain_size=STEPS + 1, epsilon=epsilon)
    of = estimator_for(mechanism)
    chances = sum(law(mechanism, value) for value in values) / len(values)
    truth = sum(values) / len(values) / STEPS
    missed = 0
    runs = generator().multinomial(n, chances, size=2000)
    for drawn, times in zip(*np.unique(runs, axis=0, return_counts=True), strict=True):
        estimate = of.estimate(tally_of(mechanism, drawn), n)
        missed += int(times) * (not estimate.lower[0] <= truth <= estimate.upper[0])
    assert missed <= 155


@pytest.mark.statistical
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize(
    "repeat", grid(["fresh", "memoized"], by_default=["memoized"], long=["fresh"])
)
def test_thirty_epochs_of_devices_that_never_change_are_covered_too(id: str, repeat: str) -> None:
    """1,000 runs at 95%: a right one misses more than 88 times with chance below 1e-6."""
    epochs, devices, share = 30, 2000, 0.3
    month = A_MONTH[repeat](id)
    of = estimator_for(month.mechanism, repeat)
    missed = 0
    for _ in range(1000):
        tally = tally_of(month.mechanism, month.drawn(epochs, devices, share))
        estimate = of.estimate(tally, epochs * devices, epochs=epochs)
        missed += not estimate.lower[0] <= share <= estimate.upper[0]
    assert missed <= 88


class Fresh:
    """Devices whose value is an end, reported again each epoch."""

    def __init__(self, id: str) -> None:
        self.mechanism = build(id, domain_size=STEPS + 1, epsilon="2")
        self.laws = [law(self.mechanism, value) for value in (0, STEPS)]

    def drawn(self, epochs: int, devices: int, share: float) -> Counts:
        rng = generator()
        high = rng.binomial(devices, share)
        low, top = self.laws
        result: Counts = rng.multinomial(epochs * (devices - high), low)
        return result + rng.multinomial(epochs * high, top)


class Memoized:
    """Devices whose value is an end, behind one permanent answer."""

    def __init__(self, id: str) -> None:
        self.mechanism = build(id, domain_size=STEPS + 1, epsilon="2", permanent="4")
        first, kept = self.mechanism.first, float(self.mechanism.keep_probability)  # type: ignore[attr-defined]  # only chains have it
        self.laws = [law(first, value) for value in (0, STEPS)]
        size = len(self.laws[0])
        self.renewed = kept * np.eye(size) + (1 - kept) / size

    def drawn(self, epochs: int, devices: int, share: float) -> Counts:
        rng = generator()
        high = rng.binomial(devices, share)
        low, top = self.laws
        permanents = rng.multinomial(devices - high, low) + rng.multinomial(high, top)
        result: Counts = rng.multinomial(epochs * permanents, self.renewed).sum(axis=0)
        return result


A_MONTH: dict[str, type[Fresh] | type[Memoized]] = {"fresh": Fresh, "memoized": Memoized}


@pytest.mark.parametrize("id", IDS)
def test_without_reports_nothing_is_claimed(id: str) -> None:
    of = estimator_for(build(id, domain_size=3, epsilon="1"))
    size = of.mechanism.tally_size
    estimate = of.estimate(np.zeros(size, dtype=np.int64), 0)
    assert np.isnan(estimate.frequencies[0])
    assert (estimate.lower[0], estimate.upper[0]) == (0, 1)


@pytest.mark.parametrize("id", IDS)
def test_one_report_never_claims_certainty(id: str) -> None:
    of = estimator_for(build(id, domain_size=3, epsilon="20"))
    tally = np.zeros(of.mechanism.tally_size, dtype=np.int64)
    tally[0] = 1
    estimate = of.estimate(tally, 1)
    assert estimate.std_errors[0] > 0
    assert estimate.upper[0] - estimate.lower[0] > 0.5
