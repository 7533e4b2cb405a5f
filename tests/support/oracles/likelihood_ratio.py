"""How far counts are from what a law expects."""

from __future__ import annotations

from typing import Any

import numpy as np


def likelihood_ratio(counts: Any, expected: Any, *, means: Any = 1.0) -> float:
    """How far counts are from what is expected, all above 0; about a χ² with a cell each.

    `means` divides what each cell adds: a Poisson count that expects e adds 1 + 1/(6e) on average.
    """
    with np.errstate(divide="ignore"):
        logs = np.where(counts > 0, np.log(counts / expected), 0.0)
    return 2 * float(((counts * logs - counts + expected) / means).sum())
