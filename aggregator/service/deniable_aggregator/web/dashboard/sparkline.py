"""A line of a few numbers as the points of an SVG polyline, from 0 to the largest."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 120
HEIGHT = 24
_EDGE = 2


def points(numbers: Sequence[int]) -> str:
    """x,y of each, the oldest on the left; empty for fewer than two."""
    if len(numbers) < 2 or not any(numbers):
        return ""
    most, last = max(numbers), len(numbers) - 1
    high = HEIGHT - 2 * _EDGE
    places = (
        (place * WIDTH / last, HEIGHT - _EDGE - high * number / most)
        for place, number in enumerate(numbers)
    )
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
