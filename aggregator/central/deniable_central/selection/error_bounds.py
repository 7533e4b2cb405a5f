"""The error bar of a selection: how far below the best the selected score may be."""

from __future__ import annotations

import math
from fractions import Fraction

from deniable_central.release import ErrorBar

CONFIDENCE = 0.95
SHORTFALL = "score below the best"


def selection_bar(levels: float, step: Fraction | None, quantity: str = SHORTFALL) -> ErrorBar:
    """From how many levels the draw may lie below the top; a grid's floor hides one step more."""
    whole = math.floor(levels)
    upper = whole if step is None else (whole + 1) * float(step)
    return ErrorBar(quantity, 0.0, float(upper), CONFIDENCE)
