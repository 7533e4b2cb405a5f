"""Counts of secret bits over public random subsets of the rows, exact and private.

    answer_j = Σ_i S_ji x_i        S_ji = 1 with probability ½, public        x_i in {0, 1}, secret

Neighbours replace one row's bit. This moves every answer whose subset has the row by 1. So all
answers together move by Δ1 = max_i Σ_j S_ji, the most subsets that any row is in. Two-sided
geometric noise of decay ε/Δ1 on each makes them ε-DP **together**, and ε is tight. In zCDP they are
Δ1 releases of ε/Δ1: about ε²/2Δ1, far below what ε alone implies.

Source: docs/mathematics/reconstruction.md, What noise leaves of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.errors import SubsetsError
from deniable_central.guarantee import Adjacency, Guarantee, pure_rho
from deniable_central.release import ErrorBar, Release
from deniable_central.samplers.noise import tail_quantile, two_sided_geometric
from deniable_central.samplers.uniform import uniform_integers
from deniable_central.selection.privacy_parameters import Epsilon, privacy_parameters
from deniable_shared.randomness.coins import Coins

Integers = npt.NDArray[np.int64]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Subsets:
    """A 0/1 matrix, int64[queries, rows], one subset a row; read-only."""

    matrix: Integers

    def __post_init__(self) -> None:
        matrix = checked_bits(self.matrix, argument="matrix", dimensions=2)
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def drawn(cls, *, rows: int, queries: int, coins: Coins | None = None) -> Subsets:
        """Draw `queries` uniform subsets of the rows."""
        if rows < 1 or queries < 1:
            raise SubsetsError(f"rows and queries must be at least 1, got {rows} and {queries}")
        drawn = uniform_integers(2, rows * queries, coins or Coins.system())
        return cls(drawn.reshape(queries, rows))

    @property
    def queries(self) -> int:
        """The number of subsets."""
        return len(self.matrix)

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def sensitivity(self) -> int:
        """Δ1: how far one replaced bit moves all answers together; at least 1."""
        return max(1, int(self.matrix.sum(axis=0).max()))

    def counts(self, secret: npt.ArrayLike) -> Integers:
        """Return the exact answers, int64[queries]: enough of them reveal the secret."""
        bits = checked_bits(secret, argument="secret", dimensions=1)
        if len(bits) != self.rows:
            raise SubsetsError(f"secret must hold a bit for each of {self.rows} rows")
        answers: Integers = self.matrix @ bits
        return answers


@dataclass(frozen=True, slots=True, eq=False)
class PrivateCounts:
    """All answers at ε together, without data: `guarantee` is the cost. Built by `of`."""

    law: ClassVar[str] = "two-sided geometric noise on every count"
    subsets: Subsets
    epsilon: Fraction

    @classmethod
    def of(cls, subsets: Subsets, *, epsilon: Epsilon) -> PrivateCounts:
        """ε in [10^−6, 20] for all answers together."""
        return cls(subsets, privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon)

    @classmethod
    def unaccounted(cls, subsets: Subsets, *, epsilon: Epsilon) -> PrivateCounts:
        """Return the mechanism with ε for each answer alone: Δ1·ε for all of them."""
        each = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
        return cls(subsets, each * subsets.sensitivity)

    @property
    def decay(self) -> Fraction:
        return self.epsilon / self.subsets.sensitivity

    @property
    def guarantee(self) -> Guarantee:
        times = self.subsets.sensitivity
        rho = min(pure_rho(self.epsilon), times * pure_rho(self.decay))
        return Guarantee(self.epsilon, rho, Fraction(0), Adjacency.REPLACE)

    def release(self, secret: npt.ArrayLike, coins: Coins | None = None) -> Release[Integers]:
        """Return every count with its own noise, and a bound on the largest error."""
        noise = two_sided_geometric(self.decay, self.subsets.queries, coins)
        answers: Integers = self.subsets.counts(secret) + noise
        most = tail_quantile(self.decay, (1 - CONFIDENCE) / self.subsets.queries)
        bar = ErrorBar("largest error of a count", 0, most, CONFIDENCE)
        return Release(answers, self.law, self.guarantee, (bar,))


def checked_bits(values: npt.ArrayLike, *, argument: str, dimensions: int) -> Integers:
    """Return zeros and ones as int64.

    Raises SubsetsError, which depends on type and shape, never on a value.
    """
    array = np.asarray(values)
    if array.ndim != dimensions or 0 in array.shape:
        raise SubsetsError(
            f"{argument} must be a non-empty array of {dimensions} dimension(s), "
            f"got shape {array.shape}"
        )
    whole = array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer)
    if not whole or array.min() < 0 or array.max() > 1:
        raise SubsetsError(f"{argument} must hold zeros and ones only, as integers or booleans")
    return array.astype(np.int64)
