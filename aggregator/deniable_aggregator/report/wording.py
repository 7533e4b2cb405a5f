"""What a collection promises, in plain sentences: bounds are never rounded towards comfort."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, exp, floor, log10

from deniable_shared.dyadic import format_epsilon
from deniable_shared.manifest import Manifest

__all__ = ["moved", "revealed"]

LARGEST = 1e6


def revealed(manifest: Manifest) -> Iterator[str]:
    """What one report says of whoever sent it, and all of them together."""
    report = float(manifest.epsilon_report)
    yield (
        f"Whatever one report says, it is at most {_times(report)} as likely under one answer as "
        f"under any other (ε = {format_epsilon(manifest.epsilon_report)}, all of it together)."
    )
    yield (
        "Whoever thought an answer as likely as not before seeing the report is at most "
        f"{_sure(report)} sure of it afterwards."
    )
    if manifest.epsilon_permanent is not None:
        yield (
            f"All reports with one permanent answer together: at most "
            f"{_times(float(manifest.epsilon_permanent))} "
            f"(ε = {format_epsilon(manifest.epsilon_permanent)})."
        )
    if manifest.repeat != "once":
        yield (
            f"Everything a device ever answers here: at most "
            f"{_times(float(manifest.epsilon_lifetime))} "
            f"(ε = {format_epsilon(manifest.epsilon_lifetime)}). "
            f"It {manifest.schedule.words}."
        )


def moved(influence: float, *, shares: bool) -> str:
    """What one device can do to an estimate, whatever it sends."""
    most = f"{_up(100 * influence)} percentage points" if shares else _up(influence)
    return f"One device can move an estimate by at most {most}, whatever it sends."


def _up(value: float) -> str:
    """To three figures, never rounded down."""
    if value <= 0:
        return "0"
    step = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / step - 1e-9) * step:.3g}"


def _times(epsilon: float) -> str:
    """e^ε, rounded up to three figures."""
    odds = exp(min(epsilon, 700.0))
    if odds >= LARGEST:
        return f"{odds * 1.05:.1e} times"
    step = 10.0 ** (floor(log10(odds)) - 2)
    shown = ceil(odds / step - 1e-9) * step
    return f"{shown:,.0f} times" if shown >= 100 else f"{shown:.3g} times"


def _sure(epsilon: float) -> str:
    """e^ε / (1 + e^ε) in per cent, rounded up."""
    sure = 100 / (1 + exp(-epsilon))
    return f"{ceil(sure)}%" if sure <= 99 else f"{min(ceil(sure * 100) / 100, 100):.2f}%"
