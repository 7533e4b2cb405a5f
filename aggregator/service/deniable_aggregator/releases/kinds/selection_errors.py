"""The usual error of a selection, simulated with noise that gives the same draw.

    exponential, top-k       Gumbel noise; the k largest in their order
    noisy-max                the requested noise

An error is how far the true score of what is drawn lies below the best one left, in true answers.
A selection errs most where scores differ by about as much as the noise, so the made-up people
differ in 12 steps from those for whom scores tie:

    mode, top-k   frequencies in proportion to 1/rank^s
    threshold     the first label is δ below the level
    quantile      the rank is δ above the border of the two labels in the middle
    revenue       a share (lowest/price)^(1 ± δ) of people pays a price

Durfee, Rogers 2019 (top-k by Gumbel noise).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.error_simulation import (
    Population,
    runs_for,
    uniforms,
    worst,
)
from deniable_aggregator.releases.kinds.ordered_scores import Quantile, Revenue, label_prices
from deniable_aggregator.releases.kinds.scores import LabelScore, Threshold
from deniable_central.samplers.noise import two_sided_geometric
from deniable_central.selection import Exponential, NoiseDistribution, NoisyMax, TopK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import Counts, TypicalError
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins

_STEPS = tuple(2.0**power for power in range(-12, 0))


@dataclass(frozen=True, slots=True)
class NoisySelection:
    """How a selection draws: noise of this decay on every score, the `count` largest."""

    noise: NoiseDistribution
    decay: Fraction
    count: int = 1

    def drawn(self, levels: Floats, coins: Coins) -> Counts:
        """The places drawn, int64[runs, count], from levels float64[runs, candidates]."""
        noisy = levels + self._noise(levels.shape, coins)
        first = noisy.argmax(axis=1)[:, None]
        order = first if self.count == 1 else np.argsort(-noisy, axis=1)[:, : self.count]
        return np.asarray(order, dtype=np.int64)

    def _noise(self, shape: tuple[int, ...], coins: Coins) -> Floats:
        if self.noise is NoiseDistribution.GEOMETRIC:
            drawn = two_sided_geometric(self.decay, int(np.prod(shape)), coins)
            return drawn.reshape(shape).astype(np.float64)
        standard = -np.log(uniforms(shape, coins))
        if self.noise is NoiseDistribution.GUMBEL:
            standard = -np.log(standard)
        return np.asarray(standard / float(self.decay))


def noisy_selection_of(selector: object) -> NoisySelection:
    """How this mechanism of `central.selection` draws. Raises TypeError for an unknown one."""
    match selector:
        case Exponential():
            return NoisySelection(NoiseDistribution.GUMBEL, selector.privacy.decay())
        case NoisyMax():
            return NoisySelection(selector.noise, selector.privacy.decay())
        case TopK():
            return NoisySelection(
                NoiseDistribution.GUMBEL, selector.privacy.share(selector.k).decay(), selector.k
            )
    raise TypeError(f"no noise is known for {type(selector).__name__}")


def selection_errors(
    score: LabelScore, pick: NoisySelection, request: Mapping[str, object], *, quantity: str
) -> tuple[TypicalError, ...]:
    """The usual error of the draw by this score; empty if simulating takes too long."""
    label_counts = score.label_counts
    base, gain = float(label_counts.expected(Fraction(0))), float(label_counts.gain)

    def errors(people: Population, signals: Floats, coins: Coins) -> Floats:
        truth = label_counts.context.n * gain * people.shares + base
        best = score.levels_of_label_counts(np.rint(truth).astype(np.int64)).astype(np.float64)
        seen = np.rint(signals + base).astype(np.int64)
        levels = np.array([score.levels_of_label_counts(run) for run in seen], dtype=np.float64)
        return _shortfall(best, pick.drawn(levels, coins)) / gain

    populations = populations_of(score)
    work = len(populations) * (
        label_counts.context.domain.size + len(score.candidates) * (pick.count + 3)
    )
    return worst(
        quantity,
        label_counts.context,
        request,
        runs=runs_for(work),
        populations=populations,
        errors=errors,
    )


def populations_of(score: LabelScore) -> list[Population]:
    """People for whom the scores are close to a tie, at every scale."""
    labels = score.label_counts.context.domain.size
    match score:
        case Threshold():
            return [_below_level(labels, float(score.level), step) for step in _STEPS]
        case Quantile():
            return [_past_border(labels, float(score.quantile), step) for step in _STEPS]
        case Revenue():
            prices = np.maximum(np.array(label_prices(score.context), dtype=np.float64), 1)
            return [_payers(prices, step) for step in (*(-each for each in _STEPS), 0, *_STEPS)]
    return [Population.steep(labels, step) for step in (0, *_STEPS, 1, 2)]


def _below_level(labels: int, level: float, step: float) -> Population:
    first = level * (1 - step)
    shares = np.array([first, *[(1 - first) / max(1, labels - 1)] * (labels - 1)])
    return Population(f"{first:.6g} have the first label, the others are even", shares)


def _past_border(labels: int, quantile: float, step: float) -> Population:
    """A population that is even on both sides of the border in the middle."""
    low, first = quantile * (1 - step), max(1, labels // 2)
    rest = (1 - low) / max(1, labels - first)
    shares = np.array([*[low / first] * first, *[rest] * (labels - first)])
    return Population(f"{low:.6g} have one of the first {first} labels, even on both sides", shares)


def _payers(prices: Floats, step: float) -> Population:
    pays = (prices[0] / prices) ** (1 + step)
    return Population(
        f"a share of (lowest/price)^{1 + step:.6g} pays a price", pays - np.append(pays[1:], 0)
    )


def _shortfall(truth: Floats, drawn: Counts) -> Floats:
    """For each run the largest distance of a drawn candidate below the best one then left."""
    left, runs = np.tile(truth, (len(drawn), 1)), np.arange(len(drawn))
    shortfall = np.zeros(len(drawn))
    for places in drawn.T:
        shortfall = np.maximum(shortfall, left.max(axis=1) - truth[places])
        left[runs, places] = -np.inf
    return shortfall
