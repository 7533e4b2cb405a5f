"""Supports as a 2-design: the common moments of all mechanisms of two levels.

Messages support sets of w of K codes. Each code is in equally many sets, and so is each pair. Let k
be how many of a given codes a message supports. Over equally likely messages, k has the first two
moments of the hypergeometric law. For every value, no message is more likely than pK/w times that:

    Var(k | x) ≤ E[(k − aw/K)² | x] ≤ (pK/w)·a(K − a)/(K − 1)·(w/K)(1 − w/K)

Unary encodings randomize each bit independently: Var(k | x) is a sum.

The covariance of sums of labels is computed message by message. With k_A(y) the number of labels of
a set A that message y supports, and P(y) the chance that y was sent,

    n·Cov(f̂_A, f̂_B) = (Σ_y P(y)·k_A(y)·k_B(y) − k̄_A·k̄_B) / (p − q)²
    P(y) = out + (in − out)·Σ_{v supported by y} f_v

In `affine/1`, `cyclic/1` and `projective/1` the first sum does not follow from a law of two
supports: it depends on a third label, the truth. So it is computed over all messages, K(K − 1)/2 or
K of them. It is linear in f: unbiased frequencies give unbiased moments. In a chain the permanent
answer has the law of the first mechanism, and its mean score is that mechanism's own. Source:
docs/mathematics/supports-and-estimates.md, Moments of a design.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.message_laws import law_of_messages
from deniable_estimators.inference.protocols import CodeSetEstimator, HasMechanism
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.structure import Design, IndependentBits, OneOf, Subset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_estimators.inference.channel import Floats
    from deniable_shared.mechanisms.protocols import Mechanism


def design_of(mechanism: Mechanism) -> tuple[int, int]:
    """Return K and w. Raises ParameterError for a mechanism whose supports are no such sets."""
    structure = mechanism.structure
    if isinstance(structure, OneOf | Subset | Design):
        return structure.codes, structure.support_size
    raise ParameterError(f"mechanism {mechanism.id} must support sets of codes of one size")


def unary(mechanism: Mechanism) -> bool:
    """Whether a report has one bit for each choice, of which one is true."""
    structure = mechanism.structure
    return isinstance(structure, IndependentBits) and structure.exclusive


def spread_within(mechanism: Mechanism, size: int) -> Fraction:
    """An upper bound of the variance of k, given any value, for any set of this many codes."""
    p, q = mechanism.p, mechanism.q
    if unary(mechanism):
        return (size - 1) * q * (1 - q) + max(p * (1 - p), q * (1 - q))
    k, w = design_of(mechanism)
    return p * Fraction(size * (k - size) * (k - w), (k - 1) * k)


def largest_variance(mechanism: Mechanism) -> Fraction:
    """Return the same bound for any set of labels."""
    half = mechanism.domain_size
    if not unary(mechanism):
        half = min(half, design_of(mechanism)[0] // 2)
    return spread_within(mechanism, half)


_MOST_PRODUCTS = 1 << 31  # sums · sums · messages: about a second
_MOST_HELD = 1 << 23  # numbers of 8 bytes


def within_reach(mechanism: Mechanism, sums: int) -> bool:
    """Whether this many sums together take at most about a second and 64 MB."""
    design = _design(mechanism)
    return design.messages * sums**2 <= _MOST_PRODUCTS and design.codes * (sums + 1) <= _MOST_HELD


def covariance_of_sums(
    estimator: HasMechanism, mechanism: Mechanism, rows: Floats, frequencies: Floats
) -> Floats:
    """Return float64[k, k]: n·Cov of the sums of these rows, at these true frequencies.

    `rows`: float64[k, labels], entries 0 or 1. `mechanism` is that of the estimator, or its first
    round: their messages are the same.
    """
    design, p = _design(mechanism), float(mechanism.p)
    near, far = p / design.supporting, (1 - p) / (design.messages - design.supporting)
    squares, means = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for held in _held(estimator, np.vstack([rows, frequencies])):
        chances = far * frequencies.sum() + (near - far) * held[-1]
        weighted = held[:-1] * chances
        squares += np.einsum("ay,by->ab", weighted, held[:-1])  # @ would use all cores of a server
        means += weighted.sum(axis=1)
    covariance: Floats = (squares - np.outer(means, means)) / float(mechanism.p - mechanism.q) ** 2
    return covariance


def covariance_bound(mechanism: Mechanism, cells: int, size: int) -> Floats:
    """Float64[cells, cells]: at least n·Cov of sums of `size` labels each, for any people.

    It is larger by a positive semidefinite matrix: no message is more likely than pK/w times that
    of all alike, whose covariance is that of a 2-design.
    """
    k, w = design_of(mechanism)
    alike = w / k * (1 - w / k) * k / (k - 1) * (size * np.eye(cells) - size**2 / k)
    gap = float(mechanism.p - mechanism.q)
    bound: Floats = float(mechanism.p) * k / w / gap**2 * alike
    return bound


def _design(mechanism: Mechanism) -> Design:
    if not isinstance(mechanism.structure, Design):
        raise ParameterError(f"mechanism must be of a design, got {mechanism.id}")
    return mechanism.structure


def _held(estimator: HasMechanism, rows: Floats) -> Iterator[Floats]:
    """Yield float64[k, messages] blocks: each row's sum over the labels that a message supports."""
    if isinstance(estimator, CodeSetEstimator):
        yield from estimator.held_blocks(rows)
    else:
        supporters = law_of_messages(estimator).supporters
        yield np.array([supporters(row) for row in rows])
