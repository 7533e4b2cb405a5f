"""Exact maxima of ‖A(s − s')‖ over pairs of messages, in L1 and in L2 squared.

    listed messages   every pair is tried                                      pairs · rows
    free bits         s − s' is any vector of −1, 0, 1; both norms are convex, so a vector of ±1
                      is worst: all 2^(m − 1) of them, for up to 16 bits. If rows and columns can
                      be turned over so that no entry is negative, the one that turns every column
                      alike is worst, for any m: Σ|a_rj| and Σ_r (Σ_j |a_rj|)²

Over free bits in general the maximum is as hard as a largest cut, so it is refused, never guessed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

Matrix = npt.NDArray[np.int64]

MOST_STEPS = 1 << 28
MOST_MESSAGES = 1 << 14
_MOST_BITS = 16
_LARGEST = 1 << 62
_CHUNK = 1 << 20


def affordable(steps: int, most: int, what: str) -> None:
    """ParameterError beyond `most`, which says what to do instead."""
    if steps > most:
        raise ParameterError(
            f"an exact sensitivity would take {steps:,} {what}, at most {most:,}: use fewer "
            "candidates or queries, or a mechanism that needs the range sensitivity alone, like "
            "exponential"
        )


def norms_of_images(images: Matrix) -> tuple[int, int]:
    """L1 and L2² over all pairs of rows: what each message makes of the answers."""
    _fits(images)
    count, width = images.shape
    affordable(count * count * width, MOST_STEPS, "steps")
    largest, squared, step = 0, 0, max(1, _CHUNK // (count * width))
    for start in range(0, count, step):
        apart = np.abs(images[start : start + step, None, :] - images[None, :, :])
        largest = max(largest, int(apart.sum(axis=2).max()))
        squared = max(squared, int((apart * apart).sum(axis=2).max()))
    return largest, squared


def norms_of_bits(matrix: Matrix) -> tuple[int, int]:
    """L1 and L2² over all vectors of −1, 0, 1."""
    _fits(np.abs(matrix).sum(axis=1, keepdims=True))
    if _one_sign(matrix):
        rows = np.abs(matrix).sum(axis=1)
        return int(rows.sum()), int((rows * rows).sum())
    bits = matrix.shape[1]
    affordable(bits, _MOST_BITS, "bits that pull answers apart")
    codes = np.arange(1 << (bits - 1))[:, None] >> np.arange(bits) & 1
    answers = np.abs((2 * codes - 1) @ matrix.T)
    return int(answers.sum(axis=1).max()), int((answers * answers).sum(axis=1).max())


def _fits(images: Matrix) -> None:
    """Squares and their sums must stay exact in 64 bits."""
    largest = max(int(images.max()), -int(images.min()))
    if 4 * largest * largest * images.shape[1] * len(images) >= _LARGEST:
        raise ParameterError("matrix must hold smaller integers for an exact L1 or L2 sensitivity")


def _one_sign(matrix: Matrix) -> bool:
    """Whether turning rows and columns over makes every entry at least 0: two colours suffice."""
    signs = np.sign(matrix)
    rows = np.zeros(signs.shape[0], dtype=np.int64)
    columns = np.zeros(signs.shape[1], dtype=np.int64)
    for start in range(len(rows)):
        if rows[start]:
            continue
        rows[start], fresh = 1, [start]
        while fresh:
            wanted = rows[fresh] @ signs[fresh]
            new = np.flatnonzero((columns == 0) & (np.abs(signs[fresh]).sum(axis=0) > 0))
            columns[new] = np.where(wanted[new] < 0, -1, 1)
            reached = np.abs(signs[:, new]).sum(axis=1) > 0
            fresh = np.flatnonzero(reached & (rows == 0)).tolist()
            rows[fresh] = np.where(signs[fresh][:, new] @ columns[new] < 0, -1, 1)
    turned = rows[:, None] * signs * columns[None, :]
    return bool((turned >= 0).all())
