"""Supports as a 2-design: what any mechanism of two levels has in common, whatever its sets are.

Each code is in equally many of the sets that messages support, w of K codes, and so is each pair.
So over messages all equally likely k, how many of a codes one supports, has two moments of the
hypergeometric law, and no message is likelier than pK/w times that, whatever the value:

    Var(k | x) ≤ E[(k − aw/K)² | x] ≤ (pK/w)·a(K − a)/(K − 1)·(w/K)(1 − w/K)

Unary encodings toss each bit by itself: Var(k | x) is a sum. Source: local-dp §0, §4.4, §7.
"""

from __future__ import annotations

from fractions import Fraction

from deniable_aggregator.estimate.reports import first_round
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.affine import AffineResponse
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.geometric import GeometricResponse
from deniable_shared.mechanisms.grr import GeneralizedResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.mechanisms.unary import UnaryEncoding

__all__ = ["design_of", "largest_variance", "spread_within"]


def design_of(mechanism: Mechanism) -> tuple[int, int]:
    """K and w; ParameterError for a mechanism whose supports are none of this kind."""
    form = first_round(mechanism)
    if isinstance(form, GeneralizedResponse):
        return form.domain_size, 1
    if isinstance(form, SubsetResponse):
        return form.domain_size, form.subset_size
    if isinstance(form, AffineResponse):
        return form.modulus, form.subset_size
    if isinstance(form, GeometricResponse):
        return form.symbols, form.favoured
    if isinstance(form, HadamardResponse):
        return form.codes, form.codes // 2
    raise ParameterError(f"mechanism {mechanism.id} must support sets of codes of one size")


def spread_within(mechanism: Mechanism, size: int) -> Fraction:
    """No less than the variance of k, given any value, for any set of so many codes."""
    form = first_round(mechanism)
    p, q = mechanism.p, mechanism.q
    if isinstance(form, UnaryEncoding):
        return (size - 1) * q * (1 - q) + max(p * (1 - p), q * (1 - q))
    k, w = design_of(mechanism)
    return p * Fraction(size * (k - size) * (k - w), (k - 1) * k)


def largest_variance(mechanism: Mechanism) -> Fraction:
    """The same for any set of labels whatever."""
    form = first_round(mechanism)
    half = form.domain_size
    if not isinstance(form, UnaryEncoding):
        half = min(half, design_of(mechanism)[0] // 2)
    return spread_within(mechanism, half)
