"""MWEM: a synthetic distribution, improved T times at about its worst query.

    w_0 uniform; t = 0 … T − 1, each half of ε/T:
        f_t   the query with about the largest error, by the exponential mechanism
        a_t   its count plus two-sided geometric noise, as a share, clipped to [0, 1]
        w_{t+1}(v) ∝ w_t(v) · e^(4(a_t − f_t(w_t)) f_t(v))
    released: the mean of w_0 … w_T

`mwem_bounds` has the proof and the error bound. Hardt, Ligett, McSherry 2012.

Source: docs/mathematics/queries.md, Multiplicative weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_central.errors import CountsError
from deniable_central.guarantee import Adjacency, Guarantee, bounded_range_rho, pure_rho
from deniable_central.queries.domain_weights import softmax
from deniable_central.queries.mwem_bounds import MOST_ROUNDS, best_rounds, mwem_error
from deniable_central.release import ErrorBar, Release
from deniable_central.samplers.noise import two_sided_geometric
from deniable_central.selection.exponential import Exponential
from deniable_central.selection.privacy_parameters import Epsilon, privacy_parameters
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from deniable_central.queries.count_data import CountData
    from deniable_central.queries.workload import Floats, Integers, Workload

CONFIDENCE = 0.95
STEP = 4


@dataclass(frozen=True, slots=True)
class Measurement:
    """One round: the selected query, and its raw count with noise, in units of 1/scale."""

    query: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """The released result: weights of the domain, and the measurements that determine them."""

    weights: Floats
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mwem:
    """The mechanism without data: `guarantee` is its cost. Neighbours replace a row."""

    law: ClassVar[str] = "multiplicative weights by the exponential mechanism, geometric noise"
    workload: Workload
    rounds: int
    epsilon: Fraction
    local_error: float = 0.0

    @classmethod
    def of(
        cls, workload: Workload, *, rounds: int, epsilon: Epsilon, local_error: float = 0.0
    ) -> Mwem:
        """Return the mechanism.

        local_error: how far earlier randomization moved any answer, as a share; 0 for true rows.
        """
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ParameterError(f"rounds must lie in [1, {MOST_ROUNDS:,}], got {rounds}")
        exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
        return cls(workload, rounds, exact, local_error)

    @property
    def share(self) -> Fraction:
        """ε of one selection, and of one measurement."""
        return self.epsilon / (2 * self.rounds)

    @property
    def guarantee(self) -> Guarantee:
        rho = self.rounds * (bounded_range_rho(self.share) + pure_rho(self.share))
        return Guarantee(self.epsilon, rho, Fraction(0), Adjacency.REPLACE)

    def release(self, data: CountData, coins: Coins | None = None) -> Release[Synthesis]:
        """Run all rounds. Returns the result and its error bound."""
        synthesis = self._synthesis(data, coins or Coins.system())
        bar = ErrorBar("largest error of a query, as a share", 0.0, self._error(data), CONFIDENCE)
        return Release(synthesis, self.law, self.guarantee, (bar,))

    def _synthesis(self, data: CountData, coins: Coins) -> Synthesis:
        observed = self.observe(data)
        course = WeightUpdates(self.workload, float(data.gain * data.rows))
        selector, measurements = self.selector(data), []
        for _ in range(self.rounds):
            query = selector.release(course.errors(observed), coins).result
            noise = two_sided_geometric(self.decay(data, query), 1, coins)
            measurements.append(Measurement(query, int(observed[query] + noise[0])))
            course.follow(measurements[-1])
        return Synthesis(course.mean, tuple(measurements))

    def _error(self, data: CountData) -> float:
        return mwem_error(
            rows=data.rows,
            domain=data.domain,
            queries=self.workload.queries,
            rounds=self.rounds,
            epsilon=self.epsilon,
            beta=1 - CONFIDENCE,
            moves=_moves(data, self.workload),
            unit=data.gain * self.workload.scale,
            local_error=self.local_error,
        )

    def observe(self, data: CountData) -> Integers:
        """Return the raw answers, after checks of public facts."""
        if data.domain != self.workload.domain:
            raise CountsError(
                f"counts must be over the queries' {self.workload.domain} values, got {data.domain}"
            )
        if not data.rows:
            raise CountsError("counts must hold at least 1 row, got 0")
        return data.observe(self.workload.matrix)

    def selector(self, data: CountData) -> Exponential:
        """Return the mechanism that selects the query of a round."""
        return Exponential.of(
            privacy_parameters(epsilon=self.share, sensitivity=_moves(data, self.workload))
        )

    def decay(self, data: CountData, query: int) -> Fraction:
        """Return the decay of the noise on one query's count, from that query's own sensitivity."""
        return self.share / max(1, data.sensitivity(self.workload.matrix[query : query + 1]))


class WeightUpdates:
    """The weights of all rounds: a function of public parameters and of the measurements."""

    def __init__(self, workload: Workload, rows: float) -> None:
        self._workload, self._unit = workload, rows * workload.scale
        self._exponents = np.zeros(workload.domain)
        self._weights = softmax(self._exponents)
        self._sum, self._count = self._weights.copy(), 1

    @property
    def mean(self) -> Floats:
        mean: Floats = self._sum / self._count
        return mean

    def errors(self, observed: Integers) -> Integers:
        """Return |observed − predicted|, with predicted counts rounded to integers."""
        predicted = np.rint(self._workload.values(self._weights) * self._unit).astype(np.int64)
        errors: Integers = np.abs(observed - predicted)
        return errors

    def follow(self, measured: Measurement) -> None:
        """Move one step towards the measured count."""
        query = self._workload.matrix[measured.query] / self._workload.scale
        share = min(max(measured.count / self._unit, 0.0), 1.0)
        self._exponents += STEP * (share - float(query @ self._weights)) * query
        self._weights = softmax(self._exponents)
        self._sum += self._weights
        self._count += 1


def mwem(
    data: CountData, workload: Workload, *, epsilon: Epsilon, rounds: int | None = None
) -> Release[Synthesis]:
    """Release weights of the domain that answer the workload, ε-DP for replace.

    rounds: by default as many as minimize the bound for these rows, values and queries.
    """
    if rounds is None:
        exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
        rounds = best_rounds(
            rows=max(1, data.rows),
            domain=workload.domain,
            queries=workload.queries,
            epsilon=exact,
            beta=1 - CONFIDENCE,
        )
    return Mwem.of(workload, rounds=rounds, epsilon=epsilon).release(data)


def _moves(data: CountData, workload: Workload) -> int:
    return max(1, data.sensitivity(workload.matrix))
