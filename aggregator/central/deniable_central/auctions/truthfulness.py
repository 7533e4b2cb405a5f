"""Truthfulness for free: what a false report can gain where the outcome is private.

    gain ≤ (highest − lowest utility) · total variation of the outcome

For utilities in [−B, B] that is 2B·tanh(ε/2) ≤ εB, for t people who collude the same at tε. Only
the outcome may depend on reports: where the utility of an outcome depends on one's own report as
well, as a sale at price r does, the bound stands if for every outcome the truth is the best report.
McSherry, Talwar 2007. Nissim, Smorodinsky, Tennenholtz 2012 make a lie cost more than that by
running, now and then, a mechanism that punishes it; `WelfareLottery` charges payments instead.
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
    """The most that false reports of so many add to the expected utility of any of them.

    lowest, highest: bounds of the utility of any outcome, −B and B, or 0 and B. Rounded up.
    """
    if not lowest <= highest:
        raise MarketError(f"lowest must be at most highest, got {lowest} and {highest}")
    together = group_guarantee(replacement_guarantee(guarantee), colluders)
    return round_up((Fraction(highest) - lowest) * total_variation(together))
