"""How sure an attacker can become: one number, rounded in the same way everywhere.

Someone who thinks two answers equally likely is at most e^ε/(1 + e^ε) sure after reports of ε.

Source: docs/mathematics/thresholds-and-coins.md, What ε promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.randomness.dyadic import exp_bounds

if TYPE_CHECKING:
    from fractions import Fraction

_BITS = 64


def max_posterior(epsilon: Fraction) -> Fraction:
    """Return e^ε/(1 + e^ε), rounded up."""
    _, most = exp_bounds(epsilon, bits=_BITS)
    return most / (1 + most)


def max_posterior_percent(epsilon: Fraction) -> str:
    """Return it in percent, like "73.2", never rounded down.

    It has one decimal, or as many as are needed to stay below 100.
    """
    share, digits = max_posterior(epsilon), 1
    while (steps := -(-share * 100 * 10**digits // 1)) == 100 * 10**digits:
        digits += 1
    whole, part = divmod(int(steps), 10**digits)
    return f"{whole}.{part:0{digits}}"
