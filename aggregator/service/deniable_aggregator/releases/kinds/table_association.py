"""Tests whether two attributes are related, from the noisy cells of their table.

    θ_ab = P_ab − P_a·P_b        for all labels but the last of each: 0 where they are independent
    W = θ̂ᵀ Σ⁻¹ θ̂              Σ = J·(C + v·1)·Jᵀ, C the devices' covariance, v the release's

The level is simulated: tables of independent attributes with the released shares are drawn `RUNS`
times, with normal noise of the covariance C and Laplace noise of the release. The level is the
share of them with at least as large a W. All of this depends only on the released table and on
coins that follow from it, so it costs nothing more.

J = ∂θ/∂P at those shares. C is the largest that holds if each device sent all of its reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.error_simulation import normals, uniforms
from deniable_estimators.inference.association import jacobian_of
from deniable_estimators.inference.projection import onto_simplex
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.releases.kinds.noisy_sums import NoisySums
    from deniable_estimators.inference.channel import Floats

RUNS = 1_999
MOST_CELLS = 256
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Association:
    """The test of a table of so many rows and columns.

    `covariance` of the devices' part of the cells, from their shares; `scale` of the Laplace noise.
    """

    shape: tuple[int, int]
    covariance: Callable[[Floats], Floats]
    scale: float

    def level(self, sums: NoisySums) -> float:
        """The probability of a table at least as uneven if the attributes are independent."""
        table = sums.shares.reshape(self.shape)
        rows, columns = onto_simplex(table.sum(axis=1)), onto_simplex(table.sum(axis=0))
        even = np.outer(rows, columns).reshape(-1)
        local = self.covariance(even)
        jacobian = jacobian_of(rows, columns)
        noise = 2 * self.scale**2 * np.eye(len(even))
        weights: Floats = np.asarray(
            np.linalg.pinv(jacobian @ (local + noise) @ jacobian.T), dtype=np.float64
        )
        coins = Coins.derive(b"deniable association", sums.noisy.astype(">i8").tobytes())
        made = even + self._noise(local, coins)
        released = _statistics(table.reshape(1, -1), self.shape, weights)[0]
        above = int((_statistics(made, self.shape, weights) >= released).sum())
        return (1 + above) / (1 + RUNS)

    def _noise(self, local: Floats, coins: Coins) -> Floats:
        """Noise of the devices and of the release: float64[RUNS, cells]."""
        values, vectors = np.linalg.eigh(local)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = normals((RUNS, len(local)), coins) @ root.T
        centred = uniforms((RUNS, len(local)), coins) - 0.5
        tails = np.log(np.maximum(1 - 2 * np.abs(centred), _LEAST))
        made: Floats = drawn - self.scale * np.sign(centred) * tails
        return made


def _statistics(tables: Floats, shape: tuple[int, int], weights: Floats) -> Floats:
    """W of each table: float64[runs] from float64[runs, cells]."""
    cells = tables.reshape(-1, *shape)
    both = np.einsum("na,nb->nab", cells.sum(axis=2), cells.sum(axis=1))
    theta = (cells - both)[:, :-1, :-1].reshape(len(cells), -1)
    statistics: Floats = np.einsum("ni,ij,nj->n", theta, weights, theta)
    return statistics
