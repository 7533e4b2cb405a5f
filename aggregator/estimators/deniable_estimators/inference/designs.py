"""Supports as a 2-design: what any mechanism of two levels has in common, whatever its sets are.

Each code is in equally many of the sets that messages support, w of K codes, and so is each pair.
So over messages all equally likely k, how many of a codes one supports, has two moments of the
hypergeometric law, and no message is likelier than pK/w times that, whatever the value:

    Var(k | x) ≤ E[(k − aw/K)² | x] ≤ (pK/w)·a(K − a)/(K − 1)·(w/K)(1 − w/K)

Unary encodings toss each bit by itself: Var(k | x) is a sum.

Sums of labels vary together, message by message.
With k_A(y) the labels of a set A that message y supports and P(y) the chance that y was sent,

    n·Cov(f̂_A, f̂_B) = (Σ_y P(y)·k_A(y)·k_B(y) − k̄_A·k̄_B) / (p − q)²
    P(y) = out + (in − out)·Σ_{v supported by y} f_v

In `affine/1`, `cyclic/1` and `projective/1` no law of two supports says the first sum: it depends
on a third label, the truth. So it is taken over all messages, K(K − 1)/2 or K of them. It is linear
in f: frequencies that are not biased give moments that are not. Of a chain the permanent answer has
the law of the first mechanism, and its score, kept or not, comes out as that mechanism's own.
Source: local-dp §0, §4.4, §7.
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
    """K and w; ParameterError for a mechanism whose supports are none of this kind."""
    structure = mechanism.structure
    if isinstance(structure, OneOf | Subset | Design):
        return structure.codes, structure.support_size
    raise ParameterError(f"mechanism {mechanism.id} must support sets of codes of one size")


def unary(mechanism: Mechanism) -> bool:
    """Whether a report is a bit for each choice, of which one is true."""
    structure = mechanism.structure
    return isinstance(structure, IndependentBits) and structure.exclusive


def spread_within(mechanism: Mechanism, size: int) -> Fraction:
    """No less than the variance of k, given any value, for any set of so many codes."""
    p, q = mechanism.p, mechanism.q
    if unary(mechanism):
        return (size - 1) * q * (1 - q) + max(p * (1 - p), q * (1 - q))
    k, w = design_of(mechanism)
    return p * Fraction(size * (k - size) * (k - w), (k - 1) * k)


def largest_variance(mechanism: Mechanism) -> Fraction:
    """The same for any set of labels whatever."""
    half = mechanism.domain_size
    if not unary(mechanism):
        half = min(half, design_of(mechanism)[0] // 2)
    return spread_within(mechanism, half)


_MOST_PRODUCTS = 1 << 31  # sums times sums times messages: about a second
_MOST_HELD = 1 << 23  # numbers of 8 bytes


def within_reach(mechanism: Mechanism, sums: int) -> bool:
    """Whether so many sums together take about a second and 64 MB at most."""
    design = _design(mechanism)
    return design.messages * sums**2 <= _MOST_PRODUCTS and design.codes * (sums + 1) <= _MOST_HELD


def covariance_of_sums(
    estimator: HasMechanism, mechanism: Mechanism, rows: Floats, frequencies: Floats
) -> Floats:
    """(k, k): n·Cov of the sums of these rows, 0 or 1 a label, if these are the frequencies.

    `mechanism` is that of the estimator, or its first round: their messages are the same.
    """
    design, p = _design(mechanism), float(mechanism.p)
    near, far = p / design.supporting, (1 - p) / (design.messages - design.supporting)
    squares, means = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for held in _held(estimator, np.vstack([rows, frequencies])):
        chances = far * frequencies.sum() + (near - far) * held[-1]
        weighted = held[:-1] * chances
        squares += np.einsum("ay,by->ab", weighted, held[:-1])  # on a server @ fights for cores
        means += weighted.sum(axis=1)
    covariance: Floats = (squares - np.outer(means, means)) / float(mechanism.p - mechanism.q) ** 2
    return covariance


def _design(mechanism: Mechanism) -> Design:
    if not isinstance(mechanism.structure, Design):
        raise ParameterError(f"mechanism must be of a design, got {mechanism.id}")
    return mechanism.structure


def _held(estimator: HasMechanism, rows: Floats) -> Iterator[Floats]:
    """(k, messages) at a time: the sum of each row over the labels that a message supports."""
    if isinstance(estimator, CodeSetEstimator):
        yield from estimator.held_blocks(rows)
    else:
        supporters = law_of_messages(estimator).supporters
        yield np.array([supporters(row) for row in rows])
