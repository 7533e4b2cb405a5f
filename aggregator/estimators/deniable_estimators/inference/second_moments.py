"""E[φ² | x] of a sum of frequencies, for tallies that have supports but no messages.

With k = Σ_{v∈S} a_v of a report and the joint law of two supports (`joint_supports`: p, q, r, t),

    E[k² | x] = p·a_x² + q(A2 − a_x²) + 2r·a_x(A − a_x) + t((A − a_x)² − (A2 − a_x²))

A = Σ a_v, A2 = Σ a_v². This is exact for subsets and unary encodings. In a design it may depend on
triples of labels: then k² is summed over all messages. Beyond 2^27 numbers the moments of a
2-design bound it, as in `designs`:

    E[(k − wA/K)² | x] ≤ (pK/w)·Var(k over all messages alike)

Source: docs/mathematics/supports-and-estimates.md, Joint supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.designs import design_of, unary
from deniable_estimators.inference.protocols import CodeSetEstimator, HasMechanism
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import Design

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.mechanisms.protocols import Mechanism

_MOST_NUMBERS = 1 << 27


def second_moments(estimator: HasMechanism, mechanism: Mechanism, rows: Floats) -> Floats:
    """Return float64[k, d]: E[φ² | x] of each row and value x, or an upper bound.

    `mechanism` is that of the estimator, or its first round: their messages are the same.
    """
    p, q = float(mechanism.p), float(mechanism.q)
    every = rows.sum(axis=1, keepdims=True)
    mean = q * every + (p - q) * rows
    spread = _squares(estimator, mechanism, rows) - mean**2
    moments: Floats = np.maximum(spread, 0.0) / (p - q) ** 2 + rows**2
    return moments


def numbers_of_a_row(mechanism: Mechanism) -> int:
    """Return how many numbers are read for one sum."""
    structure = mechanism.structure
    return structure.messages if isinstance(structure, Design) else mechanism.tally_size


def _squares(estimator: HasMechanism, mechanism: Mechanism, rows: Floats) -> Floats:
    """Return E[k² | x]."""
    design = mechanism.structure
    if not isinstance(design, Design) or design.triples is not None:
        return _of_pairs(JointSupports.of(mechanism), rows)
    p, q = float(mechanism.p), float(mechanism.q)
    if isinstance(estimator, CodeSetEstimator) and design.messages * len(rows) <= _MOST_NUMBERS:
        near, far = p / design.supporting, (1 - p) / (design.messages - design.supporting)
        total, supporting = estimator.squares(rows)
        own = supporting[:, : rows.shape[1]]
        moments: Floats = far * total[:, None] + (near - far) * own
        return moments
    _, variance = _over_messages(mechanism, rows)
    every = rows.sum(axis=1, keepdims=True)
    mean = q * every + (p - q) * rows
    bound: Floats = mean**2 + (p * design.codes / design.support_size * variance)[:, None]
    return bound


def _of_pairs(law: JointSupports, rows: Floats) -> Floats:
    p, q, r, t = (float(each) for each in (law.p, law.q, law.r, law.t))
    own, others = rows**2, rows.sum(axis=1, keepdims=True) - rows
    rest = (rows**2).sum(axis=1, keepdims=True) - own
    squares: Floats = p * own + q * rest + 2 * r * rows * others + t * (others**2 - rest)
    return squares


def scores_range(mechanism: Mechanism, rows: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the least and the largest φ of a message."""
    every, q, gap = rows.sum(axis=1), float(mechanism.q), float(mechanism.p - mechanism.q)
    if unary(mechanism):
        return -q * every / gap, (1 - q) * every / gap
    codes, held = design_of(mechanism)
    padded = np.concatenate([rows, np.zeros((len(rows), codes - rows.shape[1]))], axis=1)
    ordered = np.sort(padded, axis=1)
    low, high = ordered[:, :held].sum(axis=1), ordered[:, codes - held :].sum(axis=1)
    return (low - q * every) / gap, (high - q * every) / gap


def uniform_moments(mechanism: Mechanism, rows: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of φ if all messages are equally likely."""
    q, gap = float(mechanism.q), float(mechanism.p - mechanism.q)
    mean, variance = _over_messages(mechanism, rows)
    return (mean - q * rows.sum(axis=1)) / gap, variance / gap**2


def _over_messages(mechanism: Mechanism, rows: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of k over equally likely messages."""
    every, squares = rows.sum(axis=1), (rows**2).sum(axis=1)
    if unary(mechanism):
        return every / 2, squares / 4
    codes, held = design_of(mechanism)
    share = held / codes
    rest = np.maximum(squares - every**2 / codes, 0.0)
    return share * every, share * (1 - share) * codes / (codes - 1) * rest


def permanent_variances(estimator: HasMechanism, rows: Floats, shares: Floats) -> Floats | None:
    """Return Var φ of permanent answers whose bits a report keeps one by one; None for others."""
    chain = estimator.mechanism
    if not isinstance(chain, MemoizedChain) or not unary(chain):
        return None
    squares = second_moments(estimator, chain.first, rows)
    mean_squares = np.clip(squares @ shares, squares.min(axis=1), squares.max(axis=1))
    variances: Floats = np.maximum(mean_squares - np.clip(rows @ shares, 0.0, 1.0) ** 2, 0.0)
    return variances
