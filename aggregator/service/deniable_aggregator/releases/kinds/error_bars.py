"""Error bars that add the error of the devices' noise and that of the release.

    selection   best by true answers − chosen ≤ local + central, except with probability β1 + β2
                local     2·(greatest error of the sums compared), Hoeffding        `Score.local`
                central   ln(k/β1)/decay levels of the score, in true answers  `selection.accuracy`
    counts      n·f̂ = (c + N − n·μ(0))/gain: normal of the local variance plus the two-sided
                geometric N, by the distribution of normal plus Laplace

Everything depends only on public facts and on the release. Both parts are shown, so that
a reader sees which part a larger ε would shrink and which more reports would.
Source: docs/mathematics/releases-over-sums.md, Error bars.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from deniable_central.release import ErrorBar

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.scores import Score
    from deniable_estimators.inference.channel import Floats

CONFIDENCE = 0.95
_HALVINGS = 44


def selection_bars(
    score: Score, central_levels: float, *, unit: str | None = None
) -> tuple[ErrorBar, ...]:
    """Bars of the local part, of the central part and of both together.

    `central_levels` holds with confidence (1 + CONFIDENCE)/2.
    """
    unit = unit or score.unit
    half = (1 - CONFIDENCE) / 2
    local, central = score.local(half), score.length(central_levels)
    return (
        ErrorBar(f"{unit}, local part", 0.0, local, 1 - half),
        ErrorBar(f"{unit}, central part", 0.0, central, 1 - half),
        ErrorBar(unit, 0.0, local + central, CONFIDENCE),
    )


def combined_half_widths(variance: Floats, decay: Fraction, confidence: float) -> Floats:
    """The least w with Pr[|X + N| > w] ≤ 1 − confidence; X normal of this variance, N noise.

    N is taken for Laplace noise of the decay, whose variance is not smaller.
    """
    sigma, rate = np.sqrt(variance), float(decay)
    low = np.zeros_like(sigma)
    high = 12 * sigma + 60 / rate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        often = 2 * normal_laplace_tail(middle, sigma, rate) > 1 - confidence
        low, high = np.where(often, middle, low), np.where(often, high, middle)
    return np.asarray(high)


def normal_laplace_tail(w: Floats, sigma: Floats, rate: float) -> Floats:
    """Pr[X + Y > w]; X normal of standard deviation sigma, Y of density rate/2·e^(−rate|y|)."""
    ndtr = import_module("scipy.special").ndtr  # 0.3 s, so not before
    z, spread = w / sigma, rate * sigma
    near, far = _mills(spread - z, z), _mills(spread + z, z)
    return np.asarray(ndtr(-z) + (near - far) / 2)


def _mills(x: Floats, z: Floats) -> Floats:
    """e^((x² − z²)/2)·Pr[X > x], X standard normal; no part of it overflows or cancels."""
    special = import_module("scipy.special")
    above = special.erfcx(np.maximum(x, 0) / math.sqrt(2)) * np.exp(-z * z / 2) / 2
    below = np.exp((x - z) * (x + z) / 2 * (x < 0)) * special.ndtr(-x)
    return np.asarray(np.where(x < 0, below, above))
