"""The distribution of people on a scale: outputs in a window around the answer are more likely.

    x of 0 … D − 1     the window is x … x + 2B of the K = D + 2B outputs, x + B its centre
    p = T/2^64         an output of the window, equally likely; else one of the K − w others

                (T/w)/((2^64 − T)/(K − w)) ≤ e^ε, as close as 64 bits allow;     w = 2B + 1

B, the parameter `reach`, is ⌊bD + ½⌋ if it is not given. b maximizes the information of the output
about a uniform answer, with E = e^ε:

    b = (εE − E + 1)/(2E(E − 1 − ε))

computed in rationals, so that all programs get the same. A neighbour of the answer is sent nearly
as often as the answer. So the mechanism measures well where people are and how they spread, but not
the share of one value. Payload: the output, big-endian, in as few whole bytes as hold K − 1.
Sources: Li et al. 2020 (square wave, of which this is the discrete form);
docs/mathematics/numbers.md, Square wave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol, WindowSymbol
from deniable_shared.randomness.dyadic import exp_bounds, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

MAX_CELLS = 1024
"""The most values: reading a distribution inverts a matrix with so many rows."""

_EXP_BITS = 128


@dataclass(frozen=True, slots=True)
class SquareWave(WindowSymbol, IndexToSymbol):
    """One of D = `domain_size` equally spaced values; B = `reach`."""

    id: ClassVar[str] = "square-wave/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("reach",)
    domain_size: int
    epsilon: Fraction
    reach: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)

    def __post_init__(self) -> None:
        d, reach = self.domain_size, self.reach
        if not 2 <= d <= MAX_CELLS:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_CELLS}], got {d}: choose a longer step"
            )
        if not 0 <= reach <= d // 2:
            raise ParameterError(f"reach must lie in [0, {d // 2}], got {reach}")
        epsilon = parse_epsilon(self.epsilon)
        cut = threshold(epsilon, alphabet_size=self.outputs, support_size=self.window)
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "payload_size", bytes_for(self.outputs))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. The reach defaults to the best for a report."""
        reach = given["reach"] if given else best_reach(report, domain_size)
        return cls(domain_size, epsilon, reach)

    @property
    def window(self) -> int:
        """w: the number of favoured outputs."""
        return 2 * self.reach + 1

    @property
    def outputs(self) -> int:
        """K: the number of outputs."""
        return self.domain_size + 2 * self.reach

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return an output. Raises DomainError unless 0 ≤ value < D."""
        start = self._checked(value)
        favoured = coins.bernoulli(self.threshold)
        inside = start + coins.below(self.window)  # both always drawn: run time reveals nothing
        outside = coins.below(self.outputs - self.window)
        outside += self.window * (outside >= start)  # skip over the window
        return (outside, inside)[favoured].to_bytes(self.payload_size, "big")

    def likely_windows(self) -> list[Fraction]:
        """For each output, the share of all values whose window contains it."""
        d, w = self.domain_size, self.window
        return [Fraction(min(y + 1, w, d, self.outputs - y), d) for y in range(self.outputs)]

    def _supports_value(self, place: int, output: int, label: int) -> bool:
        return label <= output < label + self.window


@lru_cache(maxsize=256)
def best_reach(epsilon: Fraction, domain_size: int) -> int:
    """Return B of the largest mutual information for uniform answers; it is at most D/2."""
    e = exp_bounds(epsilon, bits=_EXP_BITS)[0]
    share = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    return min(math.floor(share * domain_size + Fraction(1, 2)), domain_size // 2)
