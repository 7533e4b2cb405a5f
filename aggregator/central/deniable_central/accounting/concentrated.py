"""zCDP and tCDP: how they add up, and the (ε, δ) that they imply.

    ρ-zCDP        D_α(M(x)‖M(x')) ≤ ρα for all α > 1
    (ρ, ω)-tCDP   the same for 1 < α < ω
    composition   ρ adds up, ω is the least

    (ε, δ) for    ε = ρα + ln(1 − 1/α) − ln(δα)/(α − 1)    at any α, so at the best     `epsilon_of`
                  ε = ρ + 2√(ρ ln(1/δ))                     simple, and never smaller

Every α gives a true statement. So the best α is searched in floats, and the result is computed in
rationals that are rounded up. Bun, Steinke 2016; Bun, Dwork, Rothblum, Steinke 2018; Canonne,
Kamath, Steinke 2020.

Source: docs/mathematics/accounting.md, Concentrated privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_central.accounting.parameters import Delta, read_delta, read_rho
from deniable_central.accounting.rational_bounds import exp, ln, sqrt
from deniable_central.errors import AccountError
from deniable_central.guarantee import round_up

if TYPE_CHECKING:
    from collections.abc import Callable

_STEPS = 80
_GOLDEN = (math.sqrt(5) - 1) / 2
_ORDER_BITS = 40
_DEEPEST = Fraction(-80)  # e^−80 is below every accepted δ, so it may replace smaller ones


def epsilon_of(rho: Fraction, delta: Delta) -> Fraction:
    """Return the ε for which ρ-zCDP is (ε, δ)-DP, by the best order; rounded up."""
    rho, delta = read_rho(rho), read_delta(delta)
    if rho == 0:
        return Fraction(0)
    order = _best_order(lambda a: _loose(rho, delta, a), *_around(rho, delta))
    return epsilon_at(order, rho * order, delta)


def epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """The ε for which D_α ≤ divergence at one order α is (ε, δ)-DP; rounded up, at least 0."""
    epsilon = divergence + ln(1 - 1 / order)[1] - ln(delta * order)[0] / (order - 1)
    return round_up(max(epsilon, Fraction(0)))


def simple_epsilon_of(rho: Fraction, delta: Delta) -> Fraction:
    """Return ρ + 2√(ρ ln(1/δ)), rounded up: the usual bound, never below `epsilon_of`."""
    rho, delta = read_rho(rho), read_delta(delta)
    return round_up(rho + 2 * sqrt(rho * ln(1 / delta)[1])[1])


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return the δ for which ρ-zCDP is (ε, δ)-DP, rounded up: e^((α−1)(ρα − ε + ln(1 − 1/α)))/α."""
    rho = read_rho(rho)
    if epsilon < 0:
        raise AccountError(f"epsilon must be at least 0, got {float(epsilon):.3g}")
    if rho == 0:
        return Fraction(0)
    mean = (float(epsilon) + float(rho)) / (2 * float(rho))  # best where ε is large
    low, high = _spread(1 + mean)
    high = max(high, 1 + 64 / math.sqrt(rho))  # best where ε is 0
    order = _best_order(lambda a: _log_delta(rho, epsilon, a), low, high)
    exponent = (order - 1) * (rho * order - epsilon + ln(1 - 1 / order)[1])
    return round_up(min(exp(max(exponent, _DEEPEST))[1] / order, Fraction(1)))


@dataclass(frozen=True, slots=True)
class TruncatedConcentration:
    """(ρ, ω)-tCDP. `a + b` is both of them, in any order and adaptively."""

    rho: Fraction
    omega: Fraction

    def __post_init__(self) -> None:
        read_rho(self.rho)
        if self.omega <= 1:
            raise AccountError(f"omega must be above 1, got {float(self.omega):.3g}")

    def __add__(self, other: TruncatedConcentration) -> TruncatedConcentration:
        return TruncatedConcentration(self.rho + other.rho, min(self.omega, other.omega))

    def epsilon(self, delta: Delta) -> Fraction:
        """Ε at δ by the best order of at most ω, rounded up: what holds below ω holds at it."""
        delta = read_delta(delta)
        if self.rho == 0:
            return Fraction(0)
        order = _best_order(lambda a: _loose(self.rho, delta, a), *_around(self.rho, delta))
        order = min(order, self.omega)
        return epsilon_at(order, self.rho * order, delta)


def _loose(rho: Fraction, delta: Fraction, order: float) -> float:
    return (
        float(rho) * order
        + math.log1p(-1 / order)
        - (math.log(delta) + math.log(order)) / (order - 1)
    )


def _log_delta(rho: Fraction, epsilon: Fraction, order: float) -> float:
    inner = float(rho) * order - float(epsilon) + math.log1p(-1 / order)
    return (order - 1) * inner - math.log(order)


def _around(rho: Fraction, delta: Fraction) -> tuple[float, float]:
    return _spread(1 + math.sqrt(-math.log(delta) / float(rho)))


def _spread(order: float) -> tuple[float, float]:
    """Return orders whose distance from 1 is up to 64 times smaller and larger."""
    return 1 + (order - 1) / 64, 1 + (order - 1) * 64


def _best_order(cost: Callable[[float], float], low: float, high: float) -> Fraction:
    """About the order of least cost, by golden section on ln(α − 1); any above 1 is valid."""
    a, b = math.log(low - 1), math.log(high - 1)
    for _ in range(_STEPS):
        left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        if cost(1 + math.exp(left)) <= cost(1 + math.exp(right)):
            b = right
        else:
            a = left
    distance = math.exp((a + b) / 2)
    digits = _ORDER_BITS - math.frexp(distance)[1]
    scaled = round(math.ldexp(distance, digits))
    return 1 + Fraction(scaled) / Fraction(2) ** digits
