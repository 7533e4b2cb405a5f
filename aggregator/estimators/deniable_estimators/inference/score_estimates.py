"""An Estimate from scores, for mechanisms whose messages do more than support a label or not.

The widest score bounds the effect of one fake report. The bound is that of a channel in which a
report moves a frequency from −q/(p − q) to (1 − q)/(p − q).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.channel import Channel, Floats
from deniable_estimators.inference.debias import Estimate
from deniable_estimators.inference.manipulation import influence, reports_to_leave

if TYPE_CHECKING:
    from deniable_estimators.inference.functionals import Functionals


def estimate_of_scores(
    each: Functionals,
    scores: tuple[Floats, Floats],
    n: int,
    *,
    confidence: float,
    family: str,
    epochs: int,
) -> Estimate:
    """Return the estimate of the labels' frequencies `each`.

    `scores` are the least and the largest score of a message for each label.
    """
    low, high = scores
    below, above = Fraction(max(float(-low.min()), 0.0)), Fraction(max(float(high.max()), 1.0))
    span = below + above
    q = below / span
    channel = Channel(q + 1 / span, q)
    share = np.nan_to_num((each.values - low) / (high - low))
    counts = np.clip(np.rint(share * n), 0, n).astype(np.int64)
    least, most = ((limit - low) / (high - low) for limit in (each.lower, each.upper))
    return Estimate(
        frequencies=each.values,
        std_errors=each.std_errors,
        lower=each.lower,
        upper=each.upper,
        n=n,
        confidence=confidence,
        family=family,
        reports_to_leave=reports_to_leave(counts, n, least, most),
        influence=influence(channel, n, epochs=epochs),
        channel=channel,
        epochs=epochs,
    )
