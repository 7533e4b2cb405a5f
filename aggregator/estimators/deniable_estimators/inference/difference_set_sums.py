"""Sums of a histogram over all shifts of a Singer difference set, exactly, by Fourier transforms.

    T[v] = Σ_{δ ∈ D} h[(v + δ) mod K]        in O(K log K) for all v; by the definition K·w

The transforms use floats, the sums are integers. A histogram is transformed after subtracting its
mean, so that numbers stay small. Each result must lie within ¼ of an integer, and all must add up
to w times the input. If they do not, the histogram is split into limbs of 24 bits, whose sums are
far within the precision of a float at any K here. The limbs are checked in the same way.

The transform has two turns of the circle, at the next length whose prime factors are 2, 3 and 5, as
K itself may be prime. Small circles are summed by the definition, in integers. Source:
docs/mathematics/designs.md, Difference sets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_shared.algebra.difference_sets import difference_set, hyperplane_size
from deniable_shared.algebra.recurrences import point_count

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats

_SMALL = 64
_LIMB = 24
_TRUSTED = 1 << 40
_FARTHEST = 0.25


def shifted_sums(histograms: Counts, q: int, t: int) -> Counts:
    """Return T, int64[…, K], of histograms int64[…, K], if the sums fit into 63 bits."""
    size, held = point_count(q, t), hyperplane_size(q, t)
    if size <= _SMALL:
        return np.asarray(histograms @ _matrix(q, t))
    rows = histograms.reshape(-1, size)
    sums = np.empty_like(rows)
    for row, histogram in zip(sums, rows, strict=True):
        mean = histogram.sum() // size
        row[:] = held * mean + _sums(histogram - mean, q, t)
    return sums.reshape(histograms.shape)


def shifted_shares(shares: Floats, q: int, t: int) -> Floats:
    """Return T, float64[…, K], of floats […, K], up to rounding."""
    spectrum, length = spectrum_of(q, t)
    twice = np.fft.rfft(np.concatenate([shares, shares], axis=-1), length)
    sums: Floats = np.fft.irfft(twice * spectrum, length)[..., : shares.shape[-1]]
    return sums


def reflect(numbers: Counts) -> Counts:
    """Return numbers[…, −v mod K] for every v."""
    return np.roll(numbers[..., ::-1], 1, axis=-1)


@lru_cache(maxsize=8)
def _matrix(q: int, t: int) -> Counts:
    """Return 1 where a message (row) is among the w of a value (column), else 0."""
    size = point_count(q, t)
    values, matrix = np.arange(size), np.zeros((size, size), dtype=np.int64)
    for shift in difference_set(q, t):
        matrix[(values + shift) % size, values] = 1
    return matrix


def _sums(numbers: Counts, q: int, t: int) -> Counts:
    """Return T of numbers of either sign: as a whole if precise enough, else limb by limb."""
    if np.abs(numbers).max() < _TRUSTED:
        whole = _by_transform(numbers, q, t)
        if whole is not None:
            return whole
    total, shift = np.zeros_like(numbers), 0
    while numbers.any():
        last = np.abs(numbers).max() < 1 << _LIMB
        limb = numbers if last else numbers & ((1 << _LIMB) - 1)
        sums = _by_transform(limb, q, t)
        if sums is None:
            raise ArithmeticError(f"sums over {len(numbers)} codes are not exact")
        total += sums << shift
        numbers, shift = numbers - limb >> _LIMB, shift + _LIMB
    return total


def _by_transform(numbers: Counts, q: int, t: int) -> Counts | None:
    """Return T if it is near integers with the right sum, else None."""
    size = len(numbers)
    turned, length = spectrum_of(q, t)
    turns = np.concatenate([numbers, numbers]).astype(np.float64)
    spectrum = np.fft.rfft(turns, length) * turned
    near: npt.NDArray[np.float64] = np.fft.irfft(spectrum, length)[:size]
    sums = np.rint(near)
    exact = sums.astype(np.int64)
    held = hyperplane_size(q, t)
    if np.abs(near - sums).max() < _FARTHEST and exact.sum() == held * numbers.sum():
        return exact
    return None


@lru_cache(maxsize=2)
def spectrum_of(q: int, t: int) -> tuple[npt.NDArray[np.complex128], int]:
    """Return the transform of the reversed D, and its length, which holds two turns."""
    length = _length(2 * point_count(q, t))
    ones = np.zeros(length)
    ones[-np.asarray(difference_set(q, t), dtype=np.int64) % length] = 1
    spectrum = np.fft.rfft(ones)
    spectrum.flags.writeable = False
    return spectrum, length


def _length(least: int) -> int:
    """Return the smallest 2^a·3^b·5^c that is at least `least`."""
    best, five = 1 << (least - 1).bit_length(), 1
    while five < best:
        odd = five
        while odd < best:
            best = min(best, odd << max(0, (-(-least // odd) - 1).bit_length()))
            odd *= 3
        five *= 5
    return best
