"""The usual error of a release, simulated from public facts. It reads no tally and is no bound.

    people    as many as there are reports, in a few simulated populations
    reports   label counts with the mean and variance of the devices' own law, as normal numbers;
              negatively correlated where a report supports a fixed number of codes
    release   the same distribution in plain floats: nothing drawn here is released
    shown     half of the runs are off by at most `median`, 95 of 100 by at most `p95`, for the
              population with the largest p95

The coins are keyed by the public facts, so that the price and the release show the same numbers.
Real people may be distributed otherwise: `expected` is the bound that holds for all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.contract import ReleaseContext, TypicalError
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_estimators.inference.designs import design_of, unary
from deniable_shared.domains import Bits
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_estimators.inference.channel import Floats

MOST_RUNS, FEWEST_RUNS = 200, 20
_WORK = 25_000_000
"""Array elements of all runs together: about half a second."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Simulated people, by the shares of their labels: float64[labels]."""

    name: str
    shares: Floats

    @classmethod
    def steep(cls, labels: int, steepness: float) -> Population:
        """Frequencies in proportion to 1/rank^steepness."""
        weights = np.arange(1.0, labels + 1) ** -steepness
        name = f"frequencies in proportion to 1/rank^{steepness:g}" if steepness else "even"
        return cls(name, weights / weights.sum())

    def signals(self, label_counts: LabelCounts, noise: Floats) -> Floats:
        """Label counts less their mean if no person has the label: float64[runs, labels].

        `noise` float64[runs, labels] has variance 1.
        """
        spread = np.sqrt(_variance(label_counts, self.shares))
        signals: Floats = (
            label_counts.context.n * float(label_counts.gain) * self.shares + noise * spread
        )
        return signals


def runs_for(work: int) -> int:
    """How many runs of `work` array elements each are simulated; 0 if that would be too few."""
    runs = min(MOST_RUNS, _WORK // max(1, work))
    return runs if runs >= FEWEST_RUNS else 0


def worst(  # noqa: PLR0913  (keyword-only but for three)
    quantity: str,
    context: ReleaseContext,
    request: Mapping[str, object],
    *,
    runs: int,
    populations: Sequence[Population],
    errors: Callable[[Population, Floats, Coins], Floats],
    simulator: Callable[[int, Coins], Callable[[Population], Floats]] | None = None,
) -> tuple[TypicalError, ...]:
    """The population with the largest p95.

    `errors` computes float64[runs] from a population, its signals and coins. `simulator` draws
    other signals than those of labels, from the number of runs and coins.
    Empty if there are no runs. All populations have the same coins.
    """
    if not runs:
        return ()
    signals_of = (simulator or _of_labels(context))(runs, coins_of(context, request, "reports"))
    candidates = []
    for population in populations:
        signals = signals_of(population)
        off = errors(population, signals, coins_of(context, request, "release"))
        median, p95 = np.quantile(off, (0.5, 0.95)).tolist()
        candidates.append(TypicalError(quantity, median, p95, population.name, runs))
    return (max(candidates, key=lambda typical: typical.p95),)


def _of_labels(context: ReleaseContext) -> Callable[[int, Coins], Callable[[Population], Floats]]:
    """The signals of all labels."""
    label_counts = LabelCounts.of(context)

    def simulator(runs: int, coins: Coins) -> Callable[[Population], Floats]:
        noise = label_noise(context, runs, coins)
        return lambda population: population.signals(label_counts, noise)

    return simulator


def coins_of(context: ReleaseContext, request: Mapping[str, object], use: str) -> Coins:
    """Coins for one use: the same for the same request over the same number of reports."""
    device = context.mechanism
    public_facts = [context.domain.size, device.id, str(device.epsilon), context.repeat]
    terms = json.dumps(
        [*public_facts, len(context.epochs), context.n, dict(request)], sort_keys=True
    )
    return Coins.derive(b"deniable typical error", use.encode(), *_chunks(terms.encode()))


def uniforms(shape: tuple[int, ...], coins: Coins) -> Floats:
    """Floats strictly between 0 and 1."""
    words = np.frombuffer(coins.bytes(8 * int(np.prod(shape))), dtype=">u8").astype(np.uint64)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5).reshape(shape) * 2.0**-53


def _chunks(text: bytes) -> list[bytes]:
    return [text[start : start + 60_000] for start in range(0, len(text), 60_000)]


def label_noise(context: ReleaseContext, runs: int, coins: Coins) -> Floats:
    """Normal numbers of variance 1 for each label; over codes of which w are sent the sum is 0."""
    labels = context.domain.size
    apart = isinstance(context.domain, Bits) or context.mechanism.sampling_fraction < 1
    if apart or unary(context.mechanism):
        return normals((runs, labels), coins)
    codes = max(labels, design_of(context.mechanism)[0])
    drawn = normals((runs, codes), coins)
    drawn -= drawn.mean(axis=1, keepdims=True)
    drawn *= np.sqrt(codes / (codes - 1))
    return drawn[:, :labels]


def normals(shape: tuple[int, int], coins: Coins) -> Floats:
    """Normal numbers of variance 1 (Box and Muller): float64[shape]."""
    first, second = uniforms(shape, coins), uniforms(shape, coins)
    drawn: Floats = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    return drawn


def _variance(label_counts: LabelCounts, shares: Floats) -> Floats:
    """The variance of sums of label counts; given the people, if each report has its own coins."""
    device, messages = label_counts.context.mechanism, label_counts.messages
    if label_counts.reports > 1 or messages.sampling_fraction < 1:
        return label_counts.variance(shares)
    p, q = float(device.p), float(device.q)
    spread = shares * p * (1 - p) + (1 - shares) * q * (1 - q)
    return np.asarray(label_counts.context.n * float(messages.unit) ** 2 * spread)
