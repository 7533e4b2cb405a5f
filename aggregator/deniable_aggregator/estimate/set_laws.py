"""How many labels of a set one report supports: its second moment, mechanism by mechanism.

    grr, unary, subset, hadamard   any two labels vary together alike: from `joint_supports`
    cyclic, projective             Σ of k² over the points that support x, for every x
    loloha                         Σ of k² over the cells that hold x, one of each function
    affine                         the same by two sums of w neighbours for each multiplier; over a
                                   million messages the bound of `designs`

The others depend on x: the largest over the values in A, and over those not in A, are taken.
Independent bits of several values (`rr/1`) are refused: how often one of two bits is set does not
follow from how often each is. Source: local-dp §2, §5, §6, §7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import cast

import numpy as np
import numpy.typing as npt

from deniable_aggregator.estimate.arcs import arc_sums
from deniable_aggregator.estimate.channel import Counts
from deniable_aggregator.estimate.contract import Estimator, MessageCodes
from deniable_aggregator.estimate.designs import spread_within
from deniable_aggregator.estimate.reports import first_round, form_of
from deniable_aggregator.estimate.sets import Kept, SetEstimate, SetLaw, estimate_set
from deniable_aggregator.estimate.walsh import walsh
from deniable_shared.chains import Renewed
from deniable_shared.errors import ParameterError
from deniable_shared.joint_supports import JointSupports
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism, Renewable
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.subset import SubsetResponse

__all__ = ["checked_set", "kept_of", "law_of", "of_set"]

_MOST_MESSAGES = 1 << 20  # of affine/1: 20 ms
_AT_ONCE = 1 << 20  # numbers of a block of multipliers
_Members = npt.NDArray[np.int64]
_Moments = tuple[Fraction, Fraction, int, int, int]
"""E k² inside and outside, and `reach`, `least` and `pieces` of a `SetLaw`."""


def of_set(
    estimator: Estimator,
    mechanism: Mechanism,
    tally: Counts,
    n: int,
    labels: Sequence[int],
    *,
    confidence: float = 0.95,
    epochs: int = 1,
    family: str = "each",
    sets: int = 1,
) -> SetEstimate:
    """The share of people whose value is one of `labels`; ParameterError as `checked_set`."""
    members = checked_set(mechanism, labels)
    count = int(estimator.supports(tally)[members].sum())
    return estimate_set(
        law_of(estimator, members),
        count,
        n,
        confidence=confidence,
        family=family,
        sets=sets,
        span=1 if estimator.repeat == "once" else epochs,
        kept=kept_of(estimator, members),
    )


def checked_set(mechanism: Mechanism, labels: Sequence[int]) -> _Members:
    """The labels as an array, if this mechanism's reports tell of their union."""
    if mechanism.id not in _MOMENTS:
        raise ParameterError(
            f"set must be left out for {mechanism.id}: only of values that exclude each other does "
            "the share of a union follow from the shares of the labels"
        )
    d = mechanism.domain_size
    if not 1 <= len(labels) < d or len(set(labels)) < len(labels):
        raise ParameterError(
            f"set must hold 1 to {d - 1} different labels: all {d} together are everybody, "
            f"got {len(labels)}"
        )
    if not all(0 <= label < d for label in labels):
        raise ParameterError(f"set must hold labels in 0..{d - 1}, got {list(labels)!r:.60}")
    return np.array(labels, dtype=np.int64)


def law_of(estimator: Estimator, members: _Members) -> SetLaw:
    """The law of k for one report; a code behind the labels may be a member, too."""
    return _law(estimator, estimator.mechanism, members)


def kept_of(estimator: Estimator, members: _Members) -> Kept | None:
    """Of a chain, what all reports of one hold have in common."""
    chain = estimator.mechanism
    if not isinstance(chain, Renewed):
        return None
    return Kept(_law(estimator, chain.first, members), chain.kept, chain.blurred)


def _law(estimator: Estimator, mechanism: Mechanism, members: _Members) -> SetLaw:
    """That of a mechanism, or of a chain, whose messages the estimator knows."""
    moments = _MOMENTS[mechanism.id](estimator, mechanism, members)
    return SetLaw(len(members), mechanism.p, mechanism.q, *moments)


def _one_value(_estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    return *_of_pairs(mechanism, members), 1, 0, len(members)


def _subset(_estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    a, form = len(members), form_of(mechanism, SubsetResponse, SubsetResponse.id)
    return *_of_pairs(mechanism, members), _most(a, form.domain_size, form.subset_size), 0, a


def _hadamard(_estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    form = form_of(mechanism, HadamardResponse, HadamardResponse.id)
    most = int(np.abs(walsh(_indicator(members, form.codes))[1:]).max())
    return *_of_pairs(mechanism, members), most, (len(members) - most) // 2, 0


def _of_pairs(mechanism: Mechanism, members: _Members) -> tuple[Fraction, Fraction]:
    """Where two labels vary together as any other two."""
    law, size = JointSupports.of(mechanism), len(members)
    return law.square(size, inside=True), law.square(size, inside=False)


def _messages(estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    """Over the messages, each of which is one of those that go with what is told openly."""
    if not isinstance(estimator, MessageCodes):
        raise ParameterError(f"the messages of {mechanism.id} must be summed by its estimator")
    held = estimator.held(_indicator(members, int(members.max(initial=0)) + 1))
    squares, classes = held**2, held.reshape(mechanism.public_choices, -1)
    supporting = estimator.code_supports(squares)
    form = cast(Renewable, first_round(mechanism))
    levels = _levels(mechanism.p, len(held) * form.favoured // form.symbols, len(held))
    moments = _of_design(
        supporting, int(squares.sum()), mechanism.domain_size, members, mechanism.p, levels
    )
    reach = int((classes.max(axis=1) - classes.min(axis=1)).max())
    return *moments, reach, int(held.min()), 0


def _affine(_estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    form = form_of(mechanism, AffineResponse, AffineResponse.id)
    a, k, w = len(members), form.modulus, form.subset_size
    reach = _most(a, k, w)
    if form.symbols > _MOST_MESSAGES:
        bound, q = spread_within(mechanism, a), mechanism.q
        return bound + (a * q + mechanism.p - q) ** 2, bound + (a * q) ** 2, reach, 0, a
    every = Fraction(a * w, k) + Fraction(a * (a - 1) * w * (w - 1), k * (k - 1))
    total, squares = int(every * form.symbols), _squares_of_affine(form, members)
    levels = _levels(mechanism.p, form.favoured, form.symbols)
    moments = _of_design(squares, total, form.domain_size, members, mechanism.p, levels)
    return *moments, reach, 0, a


def _levels(p: Fraction, favoured: int, messages: int) -> tuple[Fraction, Fraction]:
    """The chance of one message that supports the value, and of one that does not."""
    return p / favoured, (1 - p) / (messages - favoured)


def _most(members: int, codes: int, held: int) -> int:
    """The range of how many of the members a set can hold."""
    return min(members, held) - max(0, held - (codes - members))


def _of_design(
    supporting: Counts,
    total: int,
    domain_size: int,
    members: _Members,
    p: Fraction,
    levels: tuple[Fraction, Fraction],
) -> tuple[Fraction, Fraction]:
    """Largest E k² over values in A and not, from Σ k² over messages that support each value."""
    near, far = levels
    own = _indicator(members, len(supporting))[:domain_size].astype(bool)

    def largest(values: Counts) -> Fraction:
        if not len(values):
            return Fraction()
        return max(near * s + far * (total - s) for s in (int(values.min()), int(values.max())))

    values = supporting[:domain_size]
    outside = largest(values[~own])
    return largest(values[own]) if own.any() else outside + p, outside


def _squares_of_affine(form: AffineResponse, members: _Members) -> Counts:
    """Σ k² over the messages that support x, for every code x.

    With u = cv mod K a message is a window of w neighbouring u, from s = −b on.
    """
    k, w = form.modulus, form.subset_size
    squares = np.zeros(k, dtype=np.int64)
    height = max(1, _AT_ONCE // k)
    for first in range(1, form.multipliers + 1, height):
        factors = np.arange(first, min(first + height, form.multipliers + 1))[:, None]
        marked = np.zeros((len(factors), k), dtype=np.int64)
        np.put_along_axis(marked, factors * members % k, 1, axis=1)
        from_here = arc_sums(marked, w)
        up_to = arc_sums(from_here[:, ::-1] ** 2, w)[:, ::-1]
        squares += np.take_along_axis(up_to, factors * np.arange(k) % k, axis=1).sum(axis=0)
    return squares


def _indicator(members: _Members, size: int) -> Counts:
    marked = np.zeros(size, dtype=np.int64)
    marked[members] = 1
    return marked


_MOMENTS: Mapping[str, Callable[[Estimator, Mechanism, _Members], _Moments]] = MappingProxyType(
    {
        "affine/1": _affine,
        "cyclic/1": _messages,
        "grr/1": _one_value,
        "hadamard/1": _hadamard,
        "loloha/1": _messages,
        "oue/1": _one_value,
        "projective/1": _messages,
        "subset/1": _subset,
        "sue/1": _one_value,
    }
)
