"""How small a database can be: the sampling lemma and its Vapnik-Chervonenkis form.

For queries into [0, 1], m rows drawn from any D miss each f(D) by more than α with probability at
most 2e^(−2mα²) (Hoeffding). If 2|Q|e^(−2mα²) < 1, some m rows miss none, so

    m = ⌊ln(2|Q|)/(2α²)⌋ + 1        one |Q| for every D: no ε in it, and α squared

Queries that agree on all of X count once. There are at most Σ_{i≤d} C(|X|, i) of VC dimension d
(Sauer). The form d·ln(1/α)/α² would need the uniform convergence theorem and its constants.

Source: docs/mathematics/queries.md, How small a database can be.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from deniable_shared.errors import ParameterError

Accuracy = str | float | Fraction
_CONTEXT = Context(prec=60)


def read_accuracy(alpha: Accuracy, *, argument: str = "alpha") -> Fraction:
    """Return α in (0, 1]: shares differ by at most 1, so larger values mean nothing."""
    try:
        exact = Fraction(alpha)
    except (ValueError, OverflowError):
        exact = Fraction(0)
    if not 0 < exact <= 1:
        raise ParameterError(f"{argument} must lie in (0, 1], got {alpha}")
    return exact


def sampling_size(queries: int, alpha: Accuracy) -> int:
    """Return m such that some m rows answer all queries of any data set to within α."""
    exact = read_accuracy(alpha)
    logarithm = Fraction(_CONTEXT.ln(Decimal(2 * _counted(queries))))
    return math.floor(logarithm / (2 * exact * exact)) + 1


def vc_sampling_size(domain: int, dimension: int, alpha: Accuracy) -> int:
    """Return m for any class of predicates of that VC dimension on `domain` values."""
    if domain < 1 or dimension < 0:
        raise ParameterError(
            f"domain must be at least 1 and dimension at least 0, got {domain} and {dimension}"
        )
    patterns = sum(math.comb(domain, chosen) for chosen in range(min(dimension, domain) + 1))
    return sampling_size(patterns, alpha)


def least_error(queries: int, size: int) -> float:
    """Return the least α that the lemma gives for m rows: √(ln(2|Q|)/(2m)), rounded up."""
    if size < 1:
        raise ParameterError(f"size must be at least 1, got {size}")
    return math.sqrt(math.log(2 * _counted(queries)) / (2 * size)) * (1 + 1e-12)


def _counted(queries: int) -> int:
    if queries < 1:
        raise ParameterError(f"queries must be at least 1, got {queries}")
    return queries
