"""How many labels of a set one report supports: its second moment, by the structure of messages.

    one choice, a set, bits     all pairs of labels are alike: from `joint_supports`
    designs of messages         Σ of k² over the messages that support x, for every x
    designs of codes            the same; over a million messages the bound of `designs`

The last two depend on x: the result is the largest over the values in A, and over those not in A.
Independent bits of several values are refused: how often at least one of two bits is set does not
follow from how often each is.
Source: docs/mathematics/supports-and-estimates.md, Joint supports.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.designs import spread_within
from deniable_estimators.inference.payload_arrays import first_round
from deniable_estimators.inference.protocols import (
    CodeSetEstimator,
    Estimator,
    MessageCodeEstimator,
)
from deniable_estimators.inference.sets import PermanentSetLaw, SetEstimate, SetLaw, estimate_set
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import Design, IndependentBits, OneOf, Subset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism, Memoizable

_MOST_MESSAGES = 1 << 20  # for affine/1: 20 ms
_Members = npt.NDArray[np.int64]
_Moments = tuple[Fraction, Fraction, int, int, int]
"""E k² inside and outside; `reach`, `least` and `pieces` of a `SetLaw`."""


def estimate_label_set(  # noqa: PLR0913  (published: notebooks call it)
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
    """Return the share of people whose value is one of `labels`.

    Raises ParameterError as `checked_set` does.
    """
    members = checked_set(mechanism, labels)
    count = int(estimator.supports(tally)[members].sum())
    return estimate_set(
        set_law_of(estimator, members),
        count,
        n,
        confidence=confidence,
        family=family,
        sets=sets,
        span=1 if estimator.repeat == "once" else epochs,
        kept=permanent_law_of(estimator, members),
    )


def checked_set(mechanism: Mechanism, labels: Sequence[int]) -> _Members:
    """Return the labels as an array.

    Raises ParameterError unless the mechanism can estimate their union.
    """
    if mechanism.structure is None:
        raise ParameterError(f"set must be left out: sets are not available for {mechanism.id}")
    if "choice" not in mechanism.domain_types:
        raise ParameterError(
            f"set must be left out for {mechanism.id}: only of values that exclude each other does "
            "the share of a union follow from the shares of the labels"
        )
    d = mechanism.domain_size
    if not 1 <= len(labels) < d or len(set(labels)) < len(labels):
        raise ParameterError(
            f"set must hold 1 to {d - 1} different labels: all {d} together are everyone, "
            f"got {len(labels)}"
        )
    if not all(0 <= label < d for label in labels):
        raise ParameterError(f"set must hold labels in 0..{d - 1}, got {list(labels)!r:.60}")
    return np.array(labels, dtype=np.int64)


def set_law_of(estimator: Estimator, members: _Members) -> SetLaw:
    """Return the law of k for one report. Codes without a label may be members, too."""
    return _law(estimator, estimator.mechanism, members)


def permanent_law_of(estimator: Estimator, members: _Members) -> PermanentSetLaw | None:
    """Return what all reports of one hold share in a chain; None for other mechanisms."""
    chain = estimator.mechanism
    if not isinstance(chain, MemoizedChain):
        return None
    return PermanentSetLaw(
        _law(estimator, chain.first, members), chain.keep_probability, chain.redraw_support
    )


def _law(estimator: Estimator, mechanism: Mechanism, members: _Members) -> SetLaw:
    """Return the law of a mechanism, or of a chain, whose messages the estimator knows."""
    moments = _moments(estimator, mechanism, members)
    return SetLaw(len(members), mechanism.p, mechanism.q, *moments)


def _moments(estimator: Estimator, mechanism: Mechanism, members: _Members) -> _Moments:
    a, structure = len(members), mechanism.structure
    if isinstance(structure, OneOf | IndependentBits):
        return *_of_pairs(mechanism, members), 1, 0, a
    if isinstance(structure, Subset):
        return (
            *_of_pairs(mechanism, members),
            _most(a, structure.codes, structure.support_size),
            0,
            a,
        )
    if isinstance(estimator, MessageCodeEstimator):
        return _of_messages(estimator, mechanism, members)
    if isinstance(structure, Design):
        reach = _most(a, structure.codes, structure.support_size)
        return *_of_codes(estimator, mechanism, structure, members), reach, 0, a
    raise ParameterError(f"sets are not available for {mechanism.id}")


def _of_pairs(mechanism: Mechanism, members: _Members) -> tuple[Fraction, Fraction]:
    """Return the moments if all pairs of labels are alike."""
    law, size = JointSupports.of(mechanism), len(members)
    return law.square(size, inside=True), law.square(size, inside=False)


def _of_messages(
    estimator: MessageCodeEstimator, mechanism: Mechanism, members: _Members
) -> _Moments:
    """Return the moments over the messages; each has one public class."""
    held = estimator.held(_indicator(members, int(members.max(initial=0)) + 1))
    reach = _widest(held.reshape(mechanism.public_outcomes, -1))
    structure = mechanism.structure
    if isinstance(structure, Design) and structure.triples is not None:
        return *_of_pairs(mechanism, members), reach, int(held.min()), 0
    squares, form = held**2, cast("Memoizable", first_round(mechanism))
    levels = _levels(mechanism.p, len(held) * form.support_size // form.alphabet_size, len(held))
    supporting = estimator.code_supports(squares)
    moments = _of_squares(mechanism, supporting, int(squares.sum()), members, levels)
    return *moments, reach, int(held.min()), 0


def _widest(classes: Counts) -> int:
    """Return the largest range of a row, for many short rows, too."""
    if len(classes) < classes.shape[1]:
        return int((classes.max(axis=1) - classes.min(axis=1)).max())
    high, low = (reduce(limit, classes.T) for limit in (np.maximum, np.minimum))
    return int((high - low).max())


def _of_codes(
    estimator: Estimator, mechanism: Mechanism, design: Design, members: _Members
) -> tuple[Fraction, Fraction]:
    """Return the moments over all sets of the design, or their bound if there are too many."""
    if not isinstance(estimator, CodeSetEstimator) or design.messages > _MOST_MESSAGES:
        a, p, q = len(members), mechanism.p, mechanism.q
        bound = spread_within(mechanism, a)
        return bound + (a * q + p - q) ** 2, bound + (a * q) ** 2
    total, supporting = estimator.squares(_indicator(members, design.codes)[None, :])
    levels = _levels(mechanism.p, design.supporting, design.messages)
    return _of_squares(mechanism, supporting[0], int(total[0]), members, levels)


def _levels(p: Fraction, favoured: int, messages: int) -> tuple[Fraction, Fraction]:
    """Return the chance of one message that supports the value, and of one that does not."""
    return p / favoured, (1 - p) / (messages - favoured)


def _most(members: int, codes: int, held: int) -> int:
    """Return the range of how many of the members a set can hold."""
    return min(members, held) - max(0, held - (codes - members))


def _of_squares(
    mechanism: Mechanism,
    supporting: Counts,
    total: int,
    members: _Members,
    levels: tuple[Fraction, Fraction],
) -> tuple[Fraction, Fraction]:
    """Return the largest E k² over values in A and not, from Σ k² over each value's messages."""
    near, far = levels
    domain_size = mechanism.domain_size
    own = _indicator(members, len(supporting))[:domain_size].astype(bool)

    def largest(values: Counts) -> Fraction:
        if not len(values):
            return Fraction()
        return max(near * s + far * (total - s) for s in (int(values.min()), int(values.max())))

    values = supporting[:domain_size]
    outside = largest(values[~own])
    return largest(values[own]) if own.any() else outside + mechanism.p, outside


def _indicator(members: _Members, size: int) -> Counts:
    marked = np.zeros(size, dtype=np.int64)
    marked[members] = 1
    return marked
