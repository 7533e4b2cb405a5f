"""How sums of labels vary together where supports are the sets of a design: message by message.

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

from collections.abc import Iterator

import numpy as np

from deniable_aggregator.estimate.channel import Floats
from deniable_aggregator.estimate.message_laws import law_of_messages
from deniable_aggregator.estimate.protocols import CodeSetEstimator, HasMechanism
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from deniable_shared.mechanisms.structure import Design

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
