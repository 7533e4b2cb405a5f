"""RDP: the Rényi divergence that releases cost, at each of some orders. Curves add up.

    pure ε           D_α ≤ ln((E^α + E^(1−α))/(1 + E))/(α − 1)                 E = e^ε
    bounded range η  D_α ≤ ln((α − 1)A/(αC)) + ln(A/α)/(α − 1)
                     A = (1 − e^(−αη))/(1 − e^−η)     C = (e^−η − e^(−αη))/(1 − e^−η)
    ρ-zCDP           D_α ≤ ρα

Randomized response reaches the first bound. The pair whose likelihood ratio is x or x·e^−η, x = (α
− 1)A/(αC), reaches the second: E[ratio^α] is convex, so two values are the worst case, and this x
is its maximum. Both are below ρα of the same release, so a ledger of curves loses least. Mironov
2017; Dong, Durfee, Rogers 2020.

Source: docs/mathematics/accounting.md, Concentrated privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from deniable_central.accounting.concentrated import epsilon_at
from deniable_central.accounting.parameters import (
    Delta,
    Epsilon,
    read_count,
    read_delta,
    read_epsilon,
    read_rho,
)
from deniable_central.accounting.rational_bounds import exp, ln
from deniable_central.errors import AccountError
from deniable_central.guarantee import Guarantee, round_up

ORDERS = tuple(
    Fraction(tenths, 10)
    for tenths in (
        *(11, 12, 13, 14, 15, 17, 20, 23, 26, 30, 35, 40, 45, 50, 60, 70, 80, 90),
        *(100, 120, 140, 160, 200, 240, 280, 320, 400, 480, 640, 960, 1280, 2560, 5120, 10240),
    )
)


@dataclass(frozen=True, slots=True)
class RenyiCurve:
    """D_α of one release, or of several, at every α of ORDERS; `a + b` is both, adaptively."""

    divergences: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.divergences) != len(ORDERS) or min(self.divergences) < 0:
            raise AccountError(
                f"a curve has a divergence of at least 0 for each of {len(ORDERS)} orders"
            )

    @classmethod
    def pure(cls, epsilon: Epsilon) -> RenyiCurve:
        """Return the curve of any ε-DP release."""
        exact = read_epsilon(epsilon)
        return cls(tuple(pure_divergence(exact, order) for order in ORDERS))

    @classmethod
    def bounded_range(cls, epsilon: Epsilon) -> RenyiCurve:
        """Return the curve of one draw of the exponential mechanism."""
        exact = read_epsilon(epsilon)
        return cls(tuple(range_divergence(exact, order) for order in ORDERS))

    @classmethod
    def concentrated(cls, rho: Fraction) -> RenyiCurve:
        """Return the curve of a ρ-zCDP release: Gaussian noise has ρ = Δ2²/(2σ²)."""
        exact = read_rho(rho)
        return cls(tuple(exact * order for order in ORDERS))

    @classmethod
    def of(cls, guarantee: Guarantee) -> RenyiCurve:
        """Return what a guarantee implies at each order.

        Raises AccountError for a guarantee with δ.
        """
        if guarantee.delta:
            raise AccountError(
                "a release with a delta has no Rényi curve: account for it by rho and delta"
            )
        curves = []
        if guarantee.epsilon is not None:
            curves.append(cls.pure(guarantee.epsilon))
        if guarantee.rho is not None:
            curves.append(cls.concentrated(guarantee.rho))
        return cls(tuple(map(min, zip(*(curve.divergences for curve in curves), strict=True))))

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        pairs = zip(self.divergences, other.divergences, strict=True)
        return RenyiCurve(tuple(a + b for a, b in pairs))

    def times(self, releases: int) -> RenyiCurve:
        """Return the curve of `releases` such releases."""
        count = read_count(releases, argument="releases")
        return RenyiCurve(tuple(count * divergence for divergence in self.divergences))

    def epsilon(self, delta: Delta) -> Fraction:
        """Return the least ε at δ over all orders, rounded up."""
        exact = read_delta(delta)
        pairs = zip(ORDERS, self.divergences, strict=True)
        return min(epsilon_at(order, divergence, exact) for order, divergence in pairs)


@lru_cache(maxsize=4096)
def pure_divergence(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return D_α of randomized response, the largest of any ε-DP release; rounded up."""
    if epsilon == 0:
        return Fraction(0)
    moment = (exp(order * epsilon)[1] + exp((1 - order) * epsilon)[1]) / (1 + exp(epsilon)[0])
    return round_up(min(epsilon, ln(moment)[1] / (order - 1)))


@lru_cache(maxsize=4096)
def range_divergence(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return the largest D_α of any release of bounded range ε; rounded up."""
    if epsilon == 0:
        return Fraction(0)
    near, far = exp(-epsilon), exp(-order * epsilon)
    most = (1 - far[0]) / (1 - near[1])  # A
    least = (near[0] - far[1]) / (1 - near[0])  # C
    ratio = (order - 1) * most / (order * least)
    return round_up(max(ln(ratio)[1] + ln(most / order)[1] / (order - 1), Fraction(0)))
