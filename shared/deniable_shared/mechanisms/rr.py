"""Binary randomized response on a vector of bits: each is sent truthfully with probability p.

    p = T/2^64        q = 1 − p        (p/q)^k ≤ e^ε, as close as 64 bits allow

k is the most places in which two valid vectors differ: ε is that of the whole vector, not of a bit.
If k < m, `inputs` are the vectors of at most ⌊k/2⌋ ones, which differ in 2⌊k/2⌋ places. So an odd
k < m spends only (k − 1)/k of ε, and k = 1 has one input. A domain of bits has an even k, or m.
Payload: the bits, most significant first, zero padded to whole bytes.
References: Warner 1965; Erlingsson, Pihur, Korolova 2014 (vectors).
Source: docs/mathematics/direct-answers.md, Several bits at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import MAX_BITS, pack
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.mechanisms.base import MechanismBase, PackedBits
from deniable_shared.mechanisms.structure import IndependentBits
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

_MAX_PMF_BITS = 16


@dataclass(frozen=True, slots=True)
class BitwiseResponse(PackedBits, MechanismBase):
    """m = `domain_size` bits, each flipped with the same probability; k = `distance`."""

    id: ClassVar[str] = "rr/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"bits"})
    releasable: ClassVar[bool] = True
    domain_size: int
    epsilon: Fraction
    distance: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    _flip: int = field(init=False, repr=False)
    _padding: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        m, k = self.domain_size, self.distance
        if not 1 <= m <= MAX_BITS:
            raise ParameterError(f"domain_size must lie in [1, {MAX_BITS}], got {m}")
        if not 1 <= k <= m:
            raise ParameterError(f"distance must lie in [1, {m}], got {k}")
        size = (m + 7) >> 3
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon) / k))
        object.__setattr__(self, "payload_size", size)
        object.__setattr__(self, "_flip", SCALE - self.threshold)
        object.__setattr__(self, "_padding", (size << 3) - m)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. `distance` is all m places if it is not given."""
        return cls(domain_size, epsilon, given.get("distance", domain_size))

    @property
    def tally_size(self) -> int:
        """The number of bits; each has a count of ones."""
        return self.domain_size

    @property
    def q(self) -> Fraction:
        """Exact probability that a bit is flipped."""
        return Fraction(self._flip, SCALE)

    @property
    def alphabet_size(self) -> int:
        """A symbol is a bit."""
        return 2

    @property
    def coordinates(self) -> int:
        """The number of bits; each is a symbol."""
        return self.domain_size

    @property
    def max_differing_coordinates(self) -> int:
        """k."""
        return self.distance

    @property
    def structure(self) -> IndependentBits:
        """m bits."""
        return IndependentBits(self.domain_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Flip each bit by its own coin.

        Raises DomainError unless the value is m zeros and ones.
        """
        bits = self._pack_bits(value) ^ coins.bernoulli_vector(self._flip, self.domain_size)
        return self._payload(bits)

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep each bit with probability keep/2^64, else draw a fair coin."""
        kept = coins.bernoulli_vector(keep, self.domain_size)
        drawn = coins.bits(self.domain_size)  # always drawn: run time must not reveal the outcome
        bits = int.from_bytes(permanent, "big") >> self._padding
        return self._payload(drawn ^ (drawn ^ bits) & kept)

    def _payload(self, bits: int) -> bytes:
        return (bits << self._padding).to_bytes(self.payload_size, "big")

    def _pack_bits(self, value: int | Sequence[int]) -> int:
        if isinstance(value, int) or len(value) != self.domain_size:
            raise DomainError(f"value must be a sequence of {self.domain_size} zeros and ones")
        try:
            return pack(value)
        except (ValueError, TypeError):  # the original error would repeat the value
            raise DomainError("value must hold only zeros and ones") from None

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload. Raises ParameterError beyond 16 bits."""
        return self._law(self._pack_bits(value), self.q)

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload of `rerandomize`, for up to 16 bits."""
        bits = int.from_bytes(permanent, "big") >> self._padding
        return self._law(bits, Fraction(SCALE - keep, 2 * SCALE))

    def _law(self, truth: int, flip: Fraction) -> dict[bytes, Fraction]:
        m = self.domain_size
        if m > _MAX_PMF_BITS:
            raise ParameterError(f"domain_size must be at most {_MAX_PMF_BITS} for a pmf, got {m}")
        by_flips = [(1 - flip) ** (m - flips) * flip**flips for flips in range(m + 1)]
        return {self._payload(bits): by_flips[(bits ^ truth).bit_count()] for bits in range(1 << m)}

    def inputs(self) -> Iterator[tuple[int, ...]]:
        """Yield all vectors if k = m, else all of at most k/2 ones: any two within distance k."""
        m = self.domain_size
        most = m if self.distance == m else self.distance // 2
        for ones in range(most + 1):
            for places in combinations(range(m), ones):
                yield tuple(int(place in places) for place in range(m))
