"""Supports as a 2-design: what any mechanism of two levels has in common, whatever its sets are.

Each code is in equally many of the sets that messages support, w of K codes, and so is each pair.
So over messages all equally likely k, how many of a codes one supports, has two moments of the
hypergeometric law, and no message is likelier than pK/w times that, whatever the value:

    Var(k | x) ≤ E[(k − aw/K)² | x] ≤ (pK/w)·a(K − a)/(K − 1)·(w/K)(1 − w/K)

Unary encodings toss each bit by itself: Var(k | x) is a sum. Source: local-dp §0, §4.4, §7.
"""

from __future__ import annotations

from fractions import Fraction

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import Mechanism
from deniable_shared.mechanisms.structure import Design, IndependentBits, OneOf, Subset


def design_of(mechanism: Mechanism) -> tuple[int, int]:
    """K and w; ParameterError for a mechanism whose supports are none of this kind."""
    structure = mechanism.structure
    if isinstance(structure, OneOf | Subset | Design):
        return structure.codes, structure.support_size
    raise ParameterError(f"mechanism {mechanism.id} must support sets of codes of one size")


def unary(mechanism: Mechanism) -> bool:
    """Whether a report is a bit for each choice, of which one is true."""
    structure = mechanism.structure
    return isinstance(structure, IndependentBits) and structure.exclusive


def spread_within(mechanism: Mechanism, size: int) -> Fraction:
    """No less than the variance of k, given any value, for any set of so many codes."""
    p, q = mechanism.p, mechanism.q
    if unary(mechanism):
        return (size - 1) * q * (1 - q) + max(p * (1 - p), q * (1 - q))
    k, w = design_of(mechanism)
    return p * Fraction(size * (k - size) * (k - w), (k - 1) * k)


def largest_variance(mechanism: Mechanism) -> Fraction:
    """The same for any set of labels whatever."""
    half = mechanism.domain_size
    if not unary(mechanism):
        half = min(half, design_of(mechanism)[0] // 2)
    return spread_within(mechanism, half)
