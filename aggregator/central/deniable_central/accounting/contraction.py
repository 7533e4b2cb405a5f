"""Contraction: a release of answers that were randomized before reveals less of the true values.

    local ε0, central (ε_c, δ_c), both for one replaced answer
    ε = 2·artanh(tanh(ε0/2) · tanh(ε_c/2)) = ln((e^(ε0 + ε_c) + 1)/(e^ε0 + e^ε_c))
    δ = δ_c (e^ε0 − 1)/(e^ε0 + e^ε_c)

Two laws of an ε0-LDP answer can be computed from one bit through binary randomized response. So the
release reveals no more than (ε_c, δ_c) after that bit. Randomized response twice reaches the bound.
The bound is less than either of the two, and holds for readers who see no reports. For J answers of
one person use J·ε0 and the group of J.

Source: docs/mathematics/accounting.md, True answers behind randomized ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_central.accounting.group import replacement_guarantee
from deniable_central.accounting.parameters import Epsilon, read_epsilon
from deniable_central.accounting.rational_bounds import Bounds, exp, ln
from deniable_central.errors import AccountError
from deniable_central.guarantee import Adjacency, Guarantee, pure_rho, round_up

if TYPE_CHECKING:
    from fractions import Fraction


def contracted_guarantee(central: Guarantee, *, local: Epsilon) -> Guarantee:
    """Return what the release guarantees a true value that passed through ε0 = `local`; rounded up.

    An add/remove guarantee is first stated for replacement. Raises AccountError without an ε.
    """
    epsilon0, outer = read_epsilon(local, argument="local"), replacement_guarantee(central)
    if outer.epsilon is None:
        raise AccountError(
            "contraction needs an epsilon: state the release as (epsilon, delta) by `epsilon_of`"
        )
    inner, whole = exp(epsilon0), exp(outer.epsilon)
    epsilon = min(round_up(_epsilon(inner, whole)), epsilon0, outer.epsilon)
    delta = round_up(outer.delta * (inner[1] - 1) / (inner[1] + whole[0]))
    rho = None if delta else _least(outer.rho, pure_rho(epsilon))
    return Guarantee(epsilon, rho, min(delta, outer.delta), Adjacency.REPLACE)


def _epsilon(inner: Bounds, whole: Bounds) -> Fraction:
    """Return bounds of ln((xy + 1)/(x + y)), which rises in x and in y if both are at least 1."""
    x, y = inner[1], whole[1]
    return ln((x * y + 1) / (x + y))[1]


def _least(rho: Fraction | None, other: Fraction) -> Fraction:
    return other if rho is None else min(rho, other)
