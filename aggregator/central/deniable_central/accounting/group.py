"""Groups: what a release guarantees to several rows at once, and to one replaced row.

    k rows           (kε, δ(e^(kε) − 1)/(e^ε − 1)), k²ρ
    one replacement  one row removed and one added: the group of two of add/remove

ρ is also at most kε·tanh(kε/2), that of any kε-DP release. Everything is rounded up.

Source: docs/mathematics/accounting.md, Neighbours and groups.
"""

from __future__ import annotations

from fractions import Fraction

from deniable_central.accounting.parameters import read_count
from deniable_central.accounting.rational_bounds import exp, sqrt, tanh
from deniable_central.errors import AccountError
from deniable_central.guarantee import Adjacency, Guarantee, pure_rho, round_up


def group_guarantee(guarantee: Guarantee, rows: int) -> Guarantee:
    """Return the guarantee to `rows` rows together. Raises AccountError if δ reaches 1."""
    k = read_count(rows, argument="rows")
    if k == 1:
        return guarantee
    epsilon = None if guarantee.epsilon is None else k * guarantee.epsilon
    return Guarantee(
        epsilon,
        _group_rho(guarantee.rho, epsilon, k),
        _group_delta(guarantee, k),
        guarantee.adjacency,
    )


def replacement_guarantee(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee under replacement: add/remove ε and δ become 2ε and (1 + e^ε)δ."""
    group = group_guarantee(guarantee, guarantee.adjacency.rows_replaced)
    return Guarantee(group.epsilon, group.rho, group.delta, Adjacency.REPLACE)


def total_variation(guarantee: Guarantee) -> Fraction:
    """Return how far an event's probability may differ between neighbours at most; rounded up.

    It is δ + (1 − δ)·tanh(ε/2), or √(ρ/2) if that is less: Kairouz, Oh, Viswanath; Pinsker.
    """
    bounds = [Fraction(1)]
    if guarantee.epsilon is not None:
        pure = tanh(guarantee.epsilon / 2)[1]
        bounds.append(guarantee.delta + (1 - guarantee.delta) * pure)
    if guarantee.rho is not None:
        bounds.append(guarantee.delta + sqrt(guarantee.rho / 2)[1])
    return round_up(min(bounds))


def _group_rho(rho: Fraction | None, epsilon: Fraction | None, rows: int) -> Fraction | None:
    if rho is None:
        return None
    squared = rows * rows * rho
    return squared if epsilon is None else min(squared, pure_rho(epsilon))


def _group_delta(guarantee: Guarantee, rows: int) -> Fraction:
    if not guarantee.delta:
        return Fraction(0)
    if guarantee.epsilon is None:
        raise AccountError("a group's delta needs an epsilon: give the release as (epsilon, delta)")
    delta = round_up(guarantee.delta * _growth(guarantee.epsilon, rows))
    if delta >= 1:
        raise AccountError(
            f"nothing is promised to {rows} rows together: their delta would be 1 or more; "
            "a smaller delta for the release keeps it below"
        )
    return delta


def _growth(epsilon: Fraction, rows: int) -> Fraction:
    """Return (e^(kε) − 1)/(e^ε − 1) = 1 + e^ε + … + e^((k − 1)ε), rounded up."""
    if epsilon == 0:
        return Fraction(rows)
    return (exp(rows * epsilon)[1] - 1) / (exp(epsilon)[0] - 1)
