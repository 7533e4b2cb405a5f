"""Truthfulness for free: what a false report can gain if the outcome is private.

    gain ≤ (highest − lowest utility) · total variation of the outcome

For utilities in [−B, B] that is 2B·tanh(ε/2) ≤ εB; for t people who collude, the same at tε. Only
the outcome may depend on reports. If the utility of an outcome also depends on one's own report, as
in a sale at price r, the bound holds if the truth is the best report for every outcome. McSherry,
Talwar 2007. Nissim, Smorodinsky, Tennenholtz 2012 make a lie cost more than it gains: they
sometimes run a mechanism that punishes it. `WelfareLottery` charges payments instead.

Source: docs/mathematics/auctions.md, What a lie gains.
"""

from __future__ import annotations

from fractions import Fraction

from deniable_central.accounting.group import (
    group_guarantee,
    replacement_guarantee,
    total_variation,
)
from deniable_central.errors import MarketError
from deniable_central.guarantee import Guarantee, round_up


def misreport_gain(
    guarantee: Guarantee,
    *,
    lowest: Fraction | int,
    highest: Fraction | int,
    colluders: int = 1,
) -> Fraction:
    """Return the most that false reports of `colluders` people add to the expected utility of one.

    lowest, highest: bounds of the utility of any outcome, −B and B, or 0 and B. Rounded up.
    """
    if not lowest <= highest:
        raise MarketError(f"lowest must be at most highest, got {lowest} and {highest}")
    together = group_guarantee(replacement_guarantee(guarantee), colluders)
    return round_up((Fraction(highest) - lowest) * total_variation(together))
