"""Exact uniform draws in bulk: integers, orders, multisets. None of them reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_shared.randomness.coins import Coins

Integers = npt.NDArray[np.int64]

_WORDS = ((8, ">u1"), (16, ">u2"), (32, ">u4"), (64, ">u8"))
_LARGEST_BOUND = 1 << 63


def uniform_integers(bound: int, size: int, coins: Coins) -> Integers:
    """Return int64[size], uniform over 0 … bound − 1, by rejection on ⌈log2 bound⌉ bits."""
    if not 1 <= bound <= _LARGEST_BOUND:
        raise ParameterError(f"bound must lie in [1, 2^63], got {bound}")
    width = (bound - 1).bit_length()
    bits, word = next(pair for pair in _WORDS if width <= pair[0])
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        words = np.frombuffer(coins.bytes((size - filled) * bits // 8), dtype=word)
        low = words.astype(np.uint64) & np.uint64((1 << width) - 1)
        kept = low[low < np.uint64(bound)].astype(np.int64)
        drawn[filled : filled + len(kept)] = kept
        filled += len(kept)
    return drawn


def uniform_order(size: int, coins: Coins) -> Integers:
    """Return a uniform order of 0 … size − 1: independent keys, sorted; equal keys are redrawn."""
    while True:
        keys = np.frombuffer(coins.bytes(8 * size), dtype=">u8").astype(np.uint64)
        order = keys.argsort()
        sorted_keys = keys[order]
        if not (sorted_keys[1:] == sorted_keys[:-1]).any():
            return order.astype(np.int64)


def uniform_multisets(symbols: int, size: int, count: int, coins: Coins) -> Integers:
    """Return int64[count, size]: uniform multisets of the symbols, in ascending rows.

    A multiset is a set of `size` among symbols + size − 1 places (stars and bars). A uniform set is
    drawn by Floyd's algorithm: place j, or an earlier place that is not taken yet.
    """
    places = symbols + size - 1
    chosen = np.empty((count, size), dtype=np.int64)
    for column in range(size):
        last = places - size + column
        drawn = uniform_integers(last + 1, count, coins)
        taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, last, drawn)
    chosen.sort(axis=1)
    return chosen - np.arange(size)
