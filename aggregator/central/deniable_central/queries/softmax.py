"""Weights over a domain, kept as exponents: public, since they depend on released numbers alone."""

from __future__ import annotations

import numpy as np

from deniable_central.queries.workload import Floats


def softmax(exponents: Floats) -> Floats:
    """e^exponents, divided by their sum."""
    weights: Floats = np.exp(exponents - exponents.max())
    weights /= weights.sum()
    return weights
