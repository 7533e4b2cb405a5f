"""How many labels of a set one report supports: its second moment, mechanism by mechanism.

    grr        k is 0 or 1
    unary      a coin of the value's bit and Bin(a − 1, q), all independent
    subset     3-design: E[k(k − 1)] from the chance that u and v are supported, given u or neither
    hadamard   k = (a ± m_j)/2, m_j = Σ_{v∈A} (−1)^(parity of j AND v), and Σ_j m_j² = Ka
    cyclic     Σ of k² over the codes that support x, for every x, by two correlations
    loloha     Σ of k² over the cells that hold x, one of each function, by two sums over functions
    affine     the same by two sums of w neighbours for each multiplier; over a million messages
               K/w·p times the variance over uniform messages, which is hypergeometric

The last three depend on x: the largest over the values in A, and over those not in A, are taken.
Independent bits of several values (`rr/1`) are refused: how often one of two bits is set does not
follow from how often each is. Source: local-dp §2, §5, §6, §7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable_aggregator.estimate.channel import Counts
from deniable_aggregator.estimate.correlation import shifted_sums
from deniable_aggregator.estimate.sets import Kept, SetEstimate, SetLaw, estimate_set
from deniable_aggregator.estimators.contract import Estimator
from deniable_aggregator.estimators.hadamard import walsh
from deniable_aggregator.estimators.loloha import cells_of_values, supports_of_codes
from deniable_shared.chains import Renewed
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.cyclic import CyclicResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.loloha import LocalHashing
from deniable_shared.mechanisms.subset import SubsetResponse

__all__ = ["checked_set", "kept_of", "law_of", "of_set"]

_MOST_MESSAGES = 1 << 20  # of affine/1: 20 ms
_AT_ONCE = 1 << 20  # numbers of a block of multipliers
_Members = npt.NDArray[np.int64]
_Moments = tuple[Fraction, Fraction, int]


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
        law_of(mechanism, members),
        count,
        n,
        confidence=confidence,
        family=family,
        sets=sets,
        span=1 if estimator.repeat == "once" else epochs,
        kept=kept_of(mechanism, members),
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


def law_of(mechanism: Mechanism, members: _Members) -> SetLaw:
    """The law of k for one report; a code behind the labels may be a member, too."""
    form = mechanism.first if isinstance(mechanism, Renewed) else mechanism
    p, q = mechanism.p, mechanism.q
    return SetLaw(len(members), p, q, *_MOMENTS[mechanism.id](form, members, p, q))


def kept_of(mechanism: Mechanism, members: _Members) -> Kept | None:
    """Of a chain, what all reports of one hold have in common."""
    if not isinstance(mechanism, Renewed):
        return None
    return Kept(law_of(mechanism.first, members), mechanism.kept, mechanism.blurred)


def _one_value(form: Any, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    outside = len(members) * q
    return outside + p - q, outside, 1


def _unary(form: Any, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    a = len(members)
    others = (a - 1) * q * (1 - q)
    inside = p * (1 - p) + others + (a * q + p - q) ** 2
    return inside, q * (1 - q) + others + (a * q) ** 2, 1


def _subset(form: SubsetResponse, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    a, d, w = len(members), form.domain_size, form.subset_size
    true_and_other = p * Fraction(w - 1, d - 1)
    two_others = (p * (w - 2) + (1 - p) * w) * Fraction(w - 1, (d - 1) * max(d - 2, 1))
    inside = a * q + p - q + (a - 1) * (2 * true_and_other + (a - 2) * two_others)
    return inside, a * q + a * (a - 1) * two_others, min(a, w) - max(0, w - (d - a))


def _hadamard(form: HadamardResponse, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    a, k = len(members), form.codes
    sums = walsh(_indicator(members, k))[1:]

    def moment(own: int) -> Fraction:
        return (Fraction((k - 2) * a * a + k * a, 4) + (2 * p - 1) * a * (k * own - a) / 2) / (
            k - 1
        )

    return moment(1), moment(0), int(np.abs(sums).max())


def _cyclic(form: CyclicResponse, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    codes, space = form.symbols, (form.field_order, form.dimension)
    turned = shifted_sums(_indicator(-members % codes, codes), *space)
    held = turned[-np.arange(codes) % codes]
    squares = held**2
    levels = _levels(p, form.favoured, form.symbols)
    around, total = shifted_sums(squares, *space), int(squares.sum())
    moments = _of_design(around, total, form.domain_size, members, p, levels)
    return *moments, int(held.max() - held.min())


def _hashed(form: LocalHashing, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    family = (form.field_order, form.dimension)
    held = cells_of_values(_indicator(members, form.codes), *family)
    squares = held**2
    levels = _levels(p, form.public_choices, form.tally_size)
    around, total = supports_of_codes(squares, *family), int(squares.sum())
    moments = _of_design(around, total, form.domain_size, members, p, levels)
    of_functions = held.reshape(-1, form.field_order)
    return *moments, int((of_functions.max(axis=1) - of_functions.min(axis=1)).max())


def _affine(form: AffineResponse, members: _Members, p: Fraction, q: Fraction) -> _Moments:
    a, k, w = len(members), form.modulus, form.subset_size
    reach = min(a, w) - max(0, w - (k - a))
    every = Fraction(a * w, k) + Fraction(a * (a - 1) * w * (w - 1), k * (k - 1))
    if form.symbols > _MOST_MESSAGES:
        bound = p * k / w * (every - Fraction(a * w, k) ** 2)
        return bound + (a * q + p - q) ** 2, bound + (a * q) ** 2, reach
    total = int(every * form.symbols)
    levels = _levels(p, form.favoured, form.symbols)
    squares = _squares_of_affine(form, members)
    return *_of_design(squares, total, form.domain_size, members, p, levels), reach


def _levels(p: Fraction, favoured: int, messages: int) -> tuple[Fraction, Fraction]:
    """The chance of one message that supports the value, and of one that does not."""
    return p / favoured, (1 - p) / (messages - favoured)


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
        from_here = _windows(marked, w)
        up_to = _windows(from_here[:, ::-1] ** 2, w)[:, ::-1]
        squares += np.take_along_axis(up_to, factors * np.arange(k) % k, axis=1).sum(axis=0)
    return squares


def _windows(rows: Counts, width: int) -> Counts:
    """Σ of `width` neighbours from each place on, around the circle."""
    sums = np.zeros((len(rows), rows.shape[1] + width), dtype=np.int64)
    np.cumsum(np.concatenate([rows, rows[:, : width - 1]], axis=1), axis=1, out=sums[:, 1:])
    windows: Counts = sums[:, width:] - sums[:, :-width]
    return windows


def _indicator(members: _Members, size: int) -> Counts:
    marked = np.zeros(size, dtype=np.int64)
    marked[members] = 1
    return marked


_MOMENTS: Mapping[str, Callable[[Any, _Members, Fraction, Fraction], _Moments]] = MappingProxyType(
    {
        "affine/1": _affine,
        "cyclic/1": _cyclic,
        "grr/1": _one_value,
        "hadamard/1": _hadamard,
        "loloha/1": _hashed,
        "oue/1": _unary,
        "subset/1": _subset,
        "sue/1": _unary,
    }
)
