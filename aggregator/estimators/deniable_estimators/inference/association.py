"""Whether two attributes go together: a Wald test that is valid for randomized reports.

    θ_ab = P_ab − P_a·P_b        for all labels but the last of each: 0 where they are independent
    W = θ̂ᵀ Σ̂⁻¹ θ̂             ~ χ² of (r − 1)(s − 1) degrees of freedom under independence

θ̂ is freed of the bias of a product, Cov(P̂_a, P̂_b). Σ̂ = J·Cov(P̂)·Jᵀ is the covariance of the noise
that the reports realise and of drawing the people, taken where the attributes are independent: at
P̂_a·P̂_b, each side projected onto the simplex. The χ² of a table of debiased counts is another
number and means nothing: it takes noise for association, and finds it in every table.

Errors of the estimates enter θ̂ as products, too. While those of the sides are not small against the
error of θ̂ itself, the law of W is not χ² yet, and there is no answer.
Sources: local-dp §0 and §13; Gaboardi, Rogers 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.cell_sums import CellSums
from deniable_estimators.inference.projection import onto_simplex

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.pooled_tables import CellEstimates

MAX_TABLE = 1_024
"""Most cells of a table that is tested: their covariance has as many rows."""

MOST_SECOND_ORDER = 0.1
"""The largest product of errors that is neglected, in errors of θ̂."""


@dataclass(frozen=True, slots=True)
class Association:
    """W, its degrees of freedom, and the chance of so much or more under independence."""

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Untestable:
    """There is no test, and why."""

    reason: str


def association(
    source: CellEstimates | CellSums, shape: tuple[int, int], *, epochs: int = 1
) -> Association | Untestable:
    """The test of the table `shape` of two attributes; `epochs` in which a device may answer."""
    cells = shape[0] * shape[1]
    if cells > MAX_TABLE:
        return Untestable(f"a table may have at most {MAX_TABLE:,} cells, this one has {cells:,}")
    if isinstance(source, CellSums) and source.untested is not None:
        return Untestable(source.untested)
    frequencies = source.frequencies
    if not np.isfinite(frequencies).all():
        return Untestable("too few reports: some cells were told of by none")
    shares = frequencies.reshape(shape)
    sides = onto_simplex(shares.sum(axis=1)), onto_simplex(shares.sum(axis=0))
    covariance = source.covariance(np.outer(*sides).reshape(-1), epochs)
    jacobian = _jacobian(*sides)
    spread = jacobian @ covariance @ jacobian.T
    if not _enough(covariance, spread, shape):
        return Untestable(
            "too few reports: the errors of the two attributes alone are not small against that "
            "of what they have in common"
        )
    theta = _theta(shares, covariance)
    statistic = float(theta @ np.linalg.solve(spread, theta))
    degrees = (shape[0] - 1) * (shape[1] - 1)
    return Association(statistic, degrees, _tail(statistic, degrees))


def _theta(shares: Floats, covariance: Floats) -> Floats:
    """P_ab − P_a·P_b, freed of the bias of the product, for all labels but the last."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    theta: Floats = shares - np.outer(rows, columns) + _of_sides(covariance, shares.shape)
    return theta[:-1, :-1].reshape(-1)


def _of_sides(covariance: Floats, shape: tuple[int, ...]) -> Floats:
    """Cov(P̂_a, P̂_b) for each a and b."""
    every: Floats = covariance.reshape(*shape, *shape).sum(axis=(1, 2))
    return every


def _jacobian(rows: Floats, columns: Floats) -> Floats:
    """∂θ_ab/∂P_cd = 1[ab = cd] − 1[a = c]·P_b − 1[b = d]·P_a, as θ × cells."""
    r, s = len(rows), len(columns)
    every = np.einsum("ac,bd->abcd", np.eye(r), np.eye(s))
    every -= np.einsum("ac,b,d->abcd", np.eye(r), columns, np.ones(s))
    every -= np.einsum("bd,a,c->abcd", np.eye(s), rows, np.ones(r))
    jacobian: Floats = every[:-1, :-1].reshape(-1, r * s)
    return jacobian


def _enough(covariance: Floats, spread: Floats, shape: tuple[int, int]) -> bool:
    """Whether Var(P̂_a)·Var(P̂_b) is small against Var(θ̂_ab) for all a and b."""
    table = covariance.reshape(*shape, *shape)
    of_rows = np.einsum("abad->a", table)
    of_columns = np.einsum("abcb->b", table)
    if min(of_rows.min(), of_columns.min(), np.linalg.eigvalsh(spread)[0]) <= 0:
        return False  # moments of few reports, which no law has
    second = np.sqrt(np.outer(of_rows, of_columns)[:-1, :-1].reshape(-1))
    return bool((second <= MOST_SECOND_ORDER * np.sqrt(np.diag(spread))).all())


def _tail(statistic: float, degrees: int) -> float:
    """P[χ² ≥ statistic]."""
    if statistic <= 0:
        return 1.0
    survival = import_module("scipy.special").chdtrc  # 0.3 s, so not before
    return float(survival(degrees, statistic)) if math.isfinite(statistic) else 0.0
