"""Bounds in words, never rounded towards comfort."""

from __future__ import annotations

from math import ceil, floor, log10


def influence_sentence(influence: float, *, shares: bool) -> str:
    """What one device can do to an estimate, whatever it sends."""
    most = f"{_up(100 * influence)} percentage points" if shares else _up(influence)
    return f"One device can move an estimate by at most {most}, whatever it sends."


def _up(value: float) -> str:
    """To three figures, never rounded down."""
    if value <= 0:
        return "0"
    step = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / step - 1e-9) * step:.3g}"
