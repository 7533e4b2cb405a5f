"""An exactly truthful lottery over outcomes for the welfare of all, and what each bidder pays.

    π(r) ∝ e^(γ Σ_j v_j(r))       γ = ε/2, each v_j in [0, 1]: the exponential mechanism
    p_i  = (1/γ) · D(π‖π_−i) = E_π[v_i] − (1/γ) ln E_{π_−i}[e^(γ v_i)]

π_−i is the lottery without i. Of all lotteries π', i likes π itself best at the price
(1/γ)·D(π'‖π_−i), by Gibbs' inequality. So the truth is the best report, exactly and in expectation.
i pays at least 0, at most ε/16, and never more than E_π[v_i].

**What is private.** The outcome is ε-DP. A payment is an exact function of the others' values, so
its reader learns something about them that ε does not cover. `noisy_payments` have the same means,
so the same truthfulness, and cost ε' for each payment that a reader sees. Huang, Kannan 2012.

Source: docs/mathematics/auctions.md, Exact truthfulness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.accounting.rational_bounds import exp, ln
from deniable_central.errors import MarketError
from deniable_central.samplers.noise import two_sided_geometric
from deniable_central.selection.exponential import Exponential
from deniable_central.selection.privacy_parameters import (
    SMALLEST_EPSILON,
    Epsilon,
    PrivacyParameters,
    privacy_parameters,
)
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_central.guarantee import Guarantee
    from deniable_central.pmf import Pmf
    from deniable_central.release import Release
    from deniable_central.scores import Integers

PAYMENT_BITS = 64
_MOST_SCALE = 1 << 20
_NOISE_BITS = 32  # noisy payments are whole numbers of 2^−32


@dataclass(frozen=True, slots=True)
class WelfareLottery:
    """The mechanism without values; a value is a whole number of 1/scale. Built by `of`."""

    law: ClassVar[str] = "exponential mechanism over welfare"
    privacy: PrivacyParameters
    scale: int

    @classmethod
    def of(cls, *, epsilon: Epsilon, scale: int = 1) -> WelfareLottery:
        if not 1 <= scale <= _MOST_SCALE:
            raise MarketError(f"scale must lie in [1, {_MOST_SCALE:,}], got {scale}")
        return cls(privacy_parameters(epsilon=epsilon, sensitivity=scale), scale)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the outcome, for everything that one bidder reported."""
        return self._selection.guarantee

    @property
    def _selection(self) -> Exponential:
        return Exponential(self.privacy)

    @property
    def rate(self) -> Fraction:
        """γ = ε/2, for values in [0, 1]."""
        return self.privacy.epsilon / 2

    @property
    def largest_payment(self) -> Fraction:
        """ε/16: the largest payment, and the most that one bidder moves another's payment."""
        return self.privacy.epsilon / 16

    def release(self, values: npt.ArrayLike, coins: Coins | None = None) -> Release[int]:
        """Return one outcome; values: int[bidders, outcomes]."""
        return self._selection.release(self._checked(values).sum(axis=0), coins)

    def pmf(self, values: npt.ArrayLike) -> Pmf[int]:
        """Return π, certified."""
        return self._selection.pmf(self._checked(values).sum(axis=0))

    def payments(self, values: npt.ArrayLike) -> tuple[Fraction, ...]:
        """P_i of every bidder, rounded down to a multiple of 2^−64; each only for its payer."""
        table = self._checked(values)
        lottery = self.pmf(table).lower
        return tuple(
            self._payment(lottery, self._selection.pmf(table.sum(axis=0) - own).upper, own)
            for own in table
        )

    def noisy_payments(
        self, values: npt.ArrayLike, *, epsilon: Epsilon, coins: Coins | None = None
    ) -> tuple[Fraction, ...]:
        """Return payments with the same means, each ε'-DP; m of them and the outcome cost ε + m·ε'.

        They are rounded at random to the two nearest multiples of 2^−32, and get geometric noise.
        """
        source = coins or Coins.system()
        moves = self.largest_payment * (1 << _NOISE_BITS) + 2  # ends may be rounded up or down
        decay = parse_epsilon(epsilon, low=SMALLEST_EPSILON) / moves
        exact = self.payments(values)
        noise = two_sided_geometric(decay, len(exact), source)
        rounded = [_rounded(payment, source) for payment in exact]
        return tuple(
            Fraction(whole + int(extra), 1 << _NOISE_BITS)
            for whole, extra in zip(rounded, noise, strict=True)
        )

    def expected_value(self, values: npt.ArrayLike, worth: npt.ArrayLike) -> Fraction:
        """Return E_π of a person's true values, for any report of that person in `values`."""
        return _mean(self.pmf(values).lower, np.asarray(worth, dtype=np.int64)) / self.scale

    def _payment(
        self, lottery: tuple[Fraction, ...], without: tuple[Fraction, ...], own: Integers
    ) -> Fraction:
        tilts = {int(v): exp(self.rate * int(v) / self.scale)[1] for v in np.unique(own)}
        moment = sum(
            (chance * tilts[v] for chance, v in zip(without, own.tolist(), strict=True)),
            Fraction(0),
        )
        exact = _mean(lottery, own) / self.scale - ln(moment)[1] / self.rate
        grid = 1 << PAYMENT_BITS
        return Fraction(max(exact * grid // 1, 0), grid)

    def _checked(self, values: npt.ArrayLike) -> Integers:
        table = np.asarray(values)
        if table.ndim != 2 or 0 in table.shape or not np.can_cast(table.dtype, np.int64):
            raise MarketError(
                "values must be integers, a row a bidder and a column an outcome, got "
                f"{table.dtype} of shape {table.shape}: pass whole numbers of 1/scale"
            )
        checked: Integers = table.astype(np.int64).clip(0, self.scale)
        return checked


def _mean(chances: tuple[Fraction, ...], values: Integers) -> Fraction:
    pairs: Iterator[tuple[Fraction, int]] = zip(chances, values.tolist(), strict=True)
    return sum((chance * value for chance, value in pairs), Fraction(0))


def _rounded(payment: Fraction, coins: Coins) -> int:
    """Return a whole number of 2^−32 with this mean; payments have 64 bits, so 32 decide."""
    below = PAYMENT_BITS - _NOISE_BITS
    exact = int(payment * (1 << PAYMENT_BITS))
    return (exact >> below) + (coins.bits(below) < exact & ((1 << below) - 1))
