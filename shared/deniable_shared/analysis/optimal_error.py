"""The least error of any mechanism, and the set sizes that reach it.

In a design of K codes and subset size w, every message supports w of the codes. Each code is
supported by the same number of messages, and so is each pair. A message that supports the truth is
E = e^ε times as likely as one that does not. If d of the codes are choices, n times the total
variance of their d frequencies, given the people who answered, is

    L(d, K, w) = [(K−1)²·E(K−w) + (d−1)(D−E)((K−1)D − w(D−E))] / [w(K−w)²(E−1)²]     D = wE + K − w

With K = d that is (d−1)²D²/(d·w(d−w)(E−1)²) − (d−1)/d. The least over w is R*(d, ε). No unbiased
estimate of all d frequencies under ε has a smaller variance, for messages of any length.

Everything is rational except E, which is enclosed. L falls as E rises, because reports of a larger
ε can be randomized again to give those of a smaller one. So the ends of E's enclosure enclose L.
Two sizes are compared at ends precise enough to decide. They are never equal, as E is
transcendental.

Sources: Ye, Barg 2018; Gentle 2025; Pan 2026; docs/mathematics/designs.md, The least total error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import exp_bounds

if TYPE_CHECKING:
    from fractions import Fraction

_FIRST_BITS = 64


def design_error(domain_size: int, codes: int, size: int, e: Fraction) -> Fraction:
    """Return L(d, K, w) at a rational E > 1, for 2 ≤ d ≤ K and 1 ≤ w < K."""
    d, k, w, others = domain_size, codes, size, codes - 1
    whole = w * e + k - w
    wrong = whole - e
    above = others**2 * e * (k - w) + (d - 1) * wrong * (others * whole - w * wrong)
    return above / (w * (k - w) ** 2 * (e - 1) ** 2)


def total_error(p: Fraction, q: Fraction, domain_size: int) -> Fraction:
    """N times the total variance of d frequencies, given who answered, for supports of p and q."""
    return (p * (1 - p) + (domain_size - 1) * q * (1 - q)) / (p - q) ** 2


@lru_cache(maxsize=256)
def best_subset_size(domain_size: int, codes: int, epsilon: Fraction) -> int:
    """The w of least L(d, K, w), exactly: next to K/(1 + E), and a neighbour of it for K = d.

    Raises ParameterError unless 2 ≤ d ≤ K ≤ 2d.
    """
    if not 2 <= domain_size <= codes <= 2 * domain_size:
        raise ParameterError(
            f"codes must lie in [domain_size, 2·domain_size] and domain_size be at least 2, "
            f"got {codes} and {domain_size}"
        )
    bits = _FIRST_BITS
    while True:
        low, high = exp_bounds(epsilon, bits=bits)
        near = int(codes / (1 + high))
        sizes = range(max(1, near - 1), min(codes - 1, near + 2) + 1)
        best = min(sizes, key=lambda w: design_error(domain_size, codes, w, low))
        most = design_error(domain_size, codes, best, low)
        if all(most <= design_error(domain_size, codes, w, high) for w in sizes if w != best):
            return best
        bits *= 2


@lru_cache(maxsize=256)
def least_error(
    domain_size: int, epsilon: Fraction, *, bits: int = _FIRST_BITS
) -> tuple[Fraction, Fraction]:
    """Return lower < R*(d, ε) < upper, at most a relative 2^(2 − bits)·E/(E − 1) apart.

    Raises ParameterError for d < 2.
    """
    size = best_subset_size(domain_size, domain_size, epsilon)
    low, high = exp_bounds(epsilon, bits=bits)
    return (
        design_error(domain_size, domain_size, size, high),
        design_error(domain_size, domain_size, size, low),
    )


def ratio_to_optimum(
    p: Fraction, q: Fraction, domain_size: int, epsilon: Fraction
) -> tuple[Fraction, Fraction]:
    """Bounds of the total error of supports with p and q, divided by R*(d, ε); the optimum is 1."""
    low, high = least_error(domain_size, epsilon)
    total = total_error(p, q, domain_size)
    return total / high, total / low
