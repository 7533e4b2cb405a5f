"""Haar contrasts in one bit: the half of its node that a value is in, sent as one parity.

    level l uniform in 0 … h − 1, j uniform in 0 … 2^l − 1, public        h = ⌈log2 D⌉
    node k = the first l bits of x, s = the next one: which half of the node
    b = parity of j AND k, plus s, modulo 2, sent with p = T/2^64, else the other bit

The 2^l contrasts of a level, (people in the left half) − (people in the right half) of each node,
are ±1 in one place and 0 elsewhere. The parity with j is one coefficient of their Walsh–Hadamard
transform. The public part does not depend on the value, so ε is that of the one bit. Together the
coefficients are those of `hadamard/1`, but drawn level by level: a node of many values is drawn as
often as all the nodes of a lower level together, as ranges need it.

p and q are those of the bit. Payload: 2(2^l − 1 + j) + b, big-endian, in as few whole bytes as hold
2^(h+1) − 3.
Sources: Cormode, Kulkarni, Srivastava 2019 (HaarHRR); docs/mathematics/numbers.md, Haar contrasts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.analysis.range_error import error_of_contrasts
from deniable_shared.domains import bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import WithoutParameters
from deniable_shared.mechanisms.structure import OneOf, OneOfParts
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins

MAX_HAAR_VALUES = 2_048
"""The most values, as for `tree/1`."""


@dataclass(frozen=True, slots=True)
class HaarResponse(WithoutParameters, IndexToSymbol):
    """D = `domain_size` equally spaced values, h = `levels`."""

    id: ClassVar[str] = "haar/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"ranges"})
    alphabet_size: ClassVar[int] = 2
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        d = self.domain_size
        if not 2 <= d <= MAX_HAAR_VALUES:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_HAAR_VALUES}], got {d}: choose a longer step"
            )
        object.__setattr__(self, "levels", (d - 1).bit_length())
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))
        object.__setattr__(self, "payload_size", bytes_for(self.tally_size))

    @property
    def tally_size(self) -> int:
        """The number of payloads; each has a count of reports."""
        return 2 * self.public_outcomes

    @property
    def public_outcomes(self) -> int:
        """The number of coefficients of all levels; those of one level are equally likely."""
        return (1 << self.levels) - 1

    @property
    def sampling_fraction(self) -> Fraction:
        """One level of h."""
        return Fraction(1, self.levels)

    @property
    def q(self) -> Fraction:
        """Exact probability that the bit is flipped."""
        return 1 - self.p

    @property
    def range_error(self) -> float:
        """n times the mean variance of a range of values, for evenly spread answers."""
        return error_of_contrasts(self.domain_size) / float(self.p - self.q) ** 2

    @property
    def structure(self) -> OneOfParts:
        """A level, a coefficient of it, its sign."""
        return OneOfParts(
            tuple(OneOfParts((OneOf(2),), 1 << level) for level in range(self.levels))
        )

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw level and j by `public`, the bit by `coins`.

        Raises DomainError unless 0 ≤ value < D.
        """
        index = self._checked(value)
        openly = coins if public is None else public
        level = openly.below(self.levels)
        place = (1 << level) - 1 + openly.below(1 << level)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(place, self._parity(place, index) ^ flip)  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _parity(self, place: int, index: int) -> int:
        """Return the parity of 2j + 1 and the first l + 1 bits of the index."""
        level = (place + 1).bit_length() - 1
        mask = 2 * (place + 1 - (1 << level)) + 1
        return (mask & index >> (self.levels - 1 - level)).bit_count() & 1

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == self._parity(place, label)

    def _chance(self, place: int) -> Fraction:
        level = (place + 1).bit_length() - 1
        return self.sampling_fraction / (1 << level)
