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

from deniable_aggregator.estimate.arcs import arc_sums
from deniable_aggregator.estimate.channel import Floats
from deniable_aggregator.estimate.messages import law_of_messages
from deniable_aggregator.estimate.reports import first_round
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.geometric import GeometricResponse

__all__ = ["covariance_of_sums", "within_reach"]

_MOST_PRODUCTS = 1 << 31  # sums times sums times messages: about a second
_MOST_HELD = 1 << 23  # numbers of 8 bytes
_AT_ONCE = 1 << 20


def within_reach(mechanism: Mechanism, sums: int) -> bool:
    """Whether so many sums together take about a second and 64 MB at most."""
    form = _form(mechanism)
    at_once = form.modulus if isinstance(form, AffineResponse) else form.symbols
    return form.symbols * sums**2 <= _MOST_PRODUCTS and at_once * (sums + 1) <= _MOST_HELD


def covariance_of_sums(mechanism: Mechanism, rows: Floats, frequencies: Floats) -> Floats:
    """(k, k): n·Cov of the sums of these rows, 0 or 1 a label, if these are the frequencies."""
    form, p = _form(mechanism), float(mechanism.p)
    near, far = p / form.favoured, (1 - p) / (form.symbols - form.favoured)
    squares, means = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for held in _held(mechanism, np.vstack([rows, frequencies])):
        chances = far * frequencies.sum() + (near - far) * held[-1]
        weighted = held[:-1] * chances
        squares += np.einsum("ay,by->ab", weighted, held[:-1])  # on a server @ fights for cores
        means += weighted.sum(axis=1)
    covariance: Floats = (squares - np.outer(means, means)) / float(mechanism.p - mechanism.q) ** 2
    return covariance


def _form(mechanism: Mechanism) -> AffineResponse | GeometricResponse:
    form = first_round(mechanism)
    if not isinstance(form, AffineResponse | GeometricResponse):
        raise ParameterError(f"mechanism must be of a design, got {mechanism.id}")
    return form


def _held(mechanism: Mechanism, rows: Floats) -> Iterator[Floats]:
    """(k, messages) at a time: the sum of each row over the labels that a message supports."""
    form = _form(mechanism)
    if isinstance(form, AffineResponse):
        yield from _of_arcs(form, rows)
    else:
        supporters = law_of_messages(mechanism).supporters
        yield np.array([supporters(row) for row in rows])


def _of_arcs(form: AffineResponse, rows: Floats) -> Iterator[Floats]:
    """Those of some multipliers c: w neighbours of c·v mod K, as often as there are shifts b."""
    codes, count = form.modulus, len(rows)
    padded = np.concatenate([rows, np.zeros((count, codes - rows.shape[1]))], axis=1)
    step = max(1, _AT_ONCE // padded.size)
    for first in range(1, form.multipliers + 1, step):
        some = np.arange(first, min(first + step, form.multipliers + 1))[:, None]
        around = np.empty((count, len(some), codes))
        around[:, np.arange(len(some))[:, None], some * np.arange(codes) % codes] = padded[:, None]
        yield arc_sums(around.reshape(-1, codes), form.subset_size).reshape(count, -1)
