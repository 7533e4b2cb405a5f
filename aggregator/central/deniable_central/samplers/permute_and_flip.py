"""Exact draws of permute-and-flip: every candidate flips a coin, and one of the heads is drawn.

The textbook goes through a random permutation until a coin of p_r = e^(−decay · depth) shows heads;
its time depends on the data. Here all coins are flipped, then one of the heads is drawn uniformly
(the top's coin always shows heads). The law is the same. One byte decides all but 1 in 256 coins,
another word the rest, and certified integers what floats do not prove. So the work depends only on
the number of candidates.

McKenna, Sheldon 2020.
Source: docs/mathematics/samplers.md, Permute and flip.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.samplers.exponential import CHUNK, Floats, Weights
from deniable_central.samplers.noise import WORD_BITS, LazyUniform, decay_bracket

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.scores import Integers
    from deniable_shared.randomness.coins import Coins

Bytes = npt.NDArray[np.uint8]
Depths = npt.NDArray[np.uint64]
Heads = npt.NDArray[np.bool_]

_BYTE_BITS = 8
_BYTE = 1 << _BYTE_BITS
_MARGIN = 2.0**-40  # of 256·p: 3·x·p ≤ 1.2 for the exponent, 16 for e^x, 4 for the rest, × 2^−45


def draw_among_heads(scores: Integers, decay: Fraction, coins: Coins) -> int:
    """Return one candidate, with exactly its probability under permute-and-flip."""
    heads = np.flatnonzero(flip_coins(scores, decay, coins))
    return int(heads[coins.below(len(heads))])


def flip_coins(
    scores: Integers, decay: Fraction, coins: Coins, *, margin: float = _MARGIN
) -> Heads:
    """Return a coin for each candidate, heads with probability e^(−decay · (top − score)).

    With a margin of 1, every coin that the first byte leaves open is decided exactly.
    """
    heads = np.empty(len(scores), dtype=np.bool_)
    weights, top = Weights(scores, decay), scores.max()
    for start in range(0, len(scores), CHUNK):
        chances = weights.floats(slice(start, start + CHUNK), top)
        first = np.frombuffer(coins.bytes(len(chances)), dtype=np.uint8)
        chances *= _BYTE
        room = np.subtract(chances, first, out=chances)  # heads if room > the rest of U, in [0, 1)
        flipped = room >= 1 + margin
        left = np.flatnonzero((room > -margin) & ~flipped)
        depths = np.subtract(top, scores[start + left]).view(np.uint64)
        flipped[left] = _second(room[left], first[left], depths, decay, coins, margin)
        heads[start : start + CHUNK] = flipped
    return heads


def _second(
    room: Floats, first: Bytes, depths: Depths, decay: Fraction, coins: Coins, margin: float
) -> Heads:
    """The coins that one byte left open: heads if room > word/2^64, exactly if that is close."""
    words = np.frombuffer(coins.bytes(8 * len(room)), dtype=">u8")
    gaps = room - words * 2.0**-WORD_BITS
    heads = gaps > 0
    for place in np.flatnonzero(np.abs(gaps) <= margin).tolist():
        uniform = LazyUniform(
            coins,
            bits=int(first[place]) << WORD_BITS | int(words[place]),
            size=_BYTE_BITS + WORD_BITS,
        )
        heads[place] = uniform.is_below(partial(decay_bracket, decay * int(depths[place])))
    return heads
