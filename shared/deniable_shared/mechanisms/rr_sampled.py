"""Randomized response on t of m bits, which are drawn publicly, without the value.

    t places of m, all sets equally likely, then each of their bits sent truthfully with probability

        p = T/2^64        q = 1 − p        (p/q)^min(t, k) ≤ e^ε, as close as 64 bits allow

k is the most places in which two valid vectors differ. In t places two vectors differ in at most
min(t, k), and in exactly that many for some set of places. So ε is split over exactly min(t, k).
Every set is equally likely under all values, so the whole report costs ε. If k < m, `inputs` are
the vectors of at most ⌊k/2⌋ ones: with an odd k < m a report spends min(t, k − 1)/min(t, k) of ε. A
domain of bits has an even k, or m.

If t is not given it is the one of least variance at frequency ½, which has the largest t·(p − q)².
The best real t is ε/2.1773 (u = ε/2t solves sinh 2u = 4u); its neighbours are compared in integers.
From t = k on the split does not grow, so all m bits are the other candidate.

Payload: for each place, in rising order, 2·place + bit, big-endian, in as few whole bytes as hold
2m − 1.
Sources: Nguyên et al. 2016; Cormode, Kulkarni, Srivastava 2018; docs/mathematics/sampling.md, How
many bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import MAX_BITS, bytes_for, pack
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms.base import MechanismBase
from deniable_shared.mechanisms.structure import SampledBits
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

_BEST_SHARE = Fraction(21773, 10000)
_MAX_PAYLOADS = 65_536


def best_sample(domain_size: int, epsilon: Fraction, distance: int) -> int:
    """Return the number of bits of least variance at frequency ½; fewer bits win a tie."""
    near = round(epsilon / _BEST_SHARE)
    split = {min(max(t, 1), distance) for t in (near - 1, near, near + 1)}

    def worth(t: int) -> int:
        return t * (2 * threshold(epsilon / min(t, distance)) - SCALE) ** 2

    return max(sorted({*split, domain_size}), key=worth)


@dataclass(frozen=True, slots=True)
class SampledResponse(MechanismBase):
    """t = `sampled` of m = `domain_size` bits, each flipped equally often; k = `distance`."""

    id: ClassVar[str] = "rr-sampled/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"bits"})
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("sampled",)
    domain_size: int
    epsilon: Fraction
    distance: int
    sampled: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    _flip: int = field(init=False, repr=False)
    _width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        m, k, t = self.domain_size, self.distance, self.sampled
        if not 1 <= m <= MAX_BITS:
            raise ParameterError(f"domain_size must lie in [1, {MAX_BITS}], got {m}")
        if not 1 <= k <= m:
            raise ParameterError(f"distance must lie in [1, {m}], got {k}")
        if not 1 <= t <= m:
            raise ParameterError(f"sampled must lie in [1, {m}], got {t}")
        width = bytes_for(2 * m)
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon) / min(t, k)))
        object.__setattr__(self, "payload_size", t * width)
        object.__setattr__(self, "_flip", SCALE - self.threshold)
        object.__setattr__(self, "_width", width)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`.

        `distance` defaults to all m places, `sampled` to the best for a report.
        """
        distance = given.get("distance", domain_size)
        if "sampled" in given:
            return cls(domain_size, epsilon, distance, given["sampled"])
        checked = cls(domain_size, epsilon, distance, 1)
        return cls(
            domain_size, epsilon, distance, best_sample(domain_size, report, checked.distance)
        )

    @property
    def tally_size(self) -> int:
        """For each bit the number of reports with it, then for each bit the number that say one."""
        return 2 * self.domain_size

    @property
    def q(self) -> Fraction:
        """Exact probability that a bit in the report is flipped."""
        return Fraction(self._flip, SCALE)

    @property
    def alphabet_size(self) -> int:
        """A symbol is a bit."""
        return 2

    @property
    def coordinates(self) -> int:
        """One symbol per bit in the report."""
        return self.sampled

    @property
    def max_differing_coordinates(self) -> int:
        """min(t, k)."""
        return min(self.sampled, self.distance)

    @property
    def public_outcomes(self) -> int:
        """The number of sets of t places."""
        return comb(self.domain_size, self.sampled)

    @property
    def sampling_fraction(self) -> Fraction:
        """t/m."""
        return Fraction(self.sampled, self.domain_size)

    @property
    def structure(self) -> SampledBits:
        """t of m bits."""
        return SampledBits(self.domain_size, self.sampled)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw t places by `public`, bits by `coins`.

        Raises DomainError unless m zeros and ones.
        """
        vector, last = self._pack_bits(value), self.domain_size - 1
        places = self._sample(coins if public is None else public)
        flips = coins.bernoulli_vector(self._flip, self.sampled)
        return self._payload(places, _gather_bits(vector, places, last) ^ flips)

    def _pack_bits(self, value: int | Sequence[int]) -> int:
        if isinstance(value, int) or len(value) != self.domain_size:
            raise DomainError(f"value must be a sequence of {self.domain_size} zeros and ones")
        try:
            return pack(value)
        except (ValueError, TypeError):  # the original error would repeat the value
            raise DomainError("value must hold only zeros and ones") from None

    def _sample(self, coins: Coins) -> list[int]:
        """Return t of m places, rising, all sets equally likely (Floyd: one draw a place)."""
        chosen: set[int] = set()
        start = self.domain_size - self.sampled
        drawn = coins.below_each(range(start + 1, self.domain_size + 1))
        for last, place in enumerate(drawn, start):
            chosen.add(last if place in chosen else place)
        return sorted(chosen)

    def _payload(self, places: Sequence[int], bits: int) -> bytes:
        """Encode `bits`: those of the places in their order, the last one least significant."""
        codes = [2 * place + (bits >> shift & 1) for shift, place in enumerate(reversed(places))]
        codes.reverse()
        if self._width == 1:
            return bytes(codes)
        return b"".join(code.to_bytes(self._width, "big") for code in codes)

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep the places, and each bit with probability keep/2^64; otherwise draw a fair coin."""
        codes = self._codes(permanent)
        kept = coins.bernoulli_vector(keep, self.sampled)
        drawn = coins.bits(self.sampled)  # always drawn: run time must not reveal the outcome
        bits = pack([code & 1 for code in codes])
        return self._payload([code >> 1 for code in codes], drawn ^ (drawn ^ bits) & kept)

    def _codes(self, payload: bytes) -> list[int]:
        if self._width == 1:
            return list(payload)
        starts = range(0, len(payload), self._width)
        return [int.from_bytes(payload[at : at + self._width], "big") for at in starts]

    def supports(self, payload: bytes, label: int) -> bool | None:
        """Whether a bit is sent as 1; None if it is not in the report."""
        return {code >> 1: bool(code & 1) for code in self._codes(payload)}.get(label)

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless `payload` names t places below m in rising order."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        places = [code >> 1 for code in self._codes(payload)]
        if places[-1] >= self.domain_size:
            raise DecodeError(f"payload must name places in [0, {self.domain_size - 1}]")
        if any(place >= after for place, after in pairwise(places)):
            raise DecodeError(f"payload must name {self.sampled} places in rising order")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 65,536 payloads.
        """
        vector, m, t = self._pack_bits(value), self.domain_size, self.sampled
        if self.public_outcomes << t > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got {self.public_outcomes} "
                f"sets of {t} bits: use fewer bits"
            )
        law: dict[bytes, Fraction] = {}
        for places in combinations(range(m), t):
            truth = _gather_bits(vector, places, m - 1)
            law |= self._law(places, truth, self.q, Fraction(1, self.public_outcomes))
        return law

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload that `rerandomize` can give."""
        codes = self._codes(permanent)
        places, bits = [code >> 1 for code in codes], pack([code & 1 for code in codes])
        return self._law(places, bits, Fraction(SCALE - keep, 2 * SCALE), Fraction(1))

    def _law(
        self, places: Sequence[int], truth: int, flip: Fraction, chance: Fraction
    ) -> dict[bytes, Fraction]:
        t = self.sampled
        by_flips = [chance * (1 - flip) ** (t - flips) * flip**flips for flips in range(t + 1)]
        return {
            self._payload(places, bits): by_flips[(bits ^ truth).bit_count()]
            for bits in range(1 << t)
        }

    def inputs(self) -> Iterator[int] | Iterator[tuple[int, ...]]:
        """Yield all vectors if k = m, else all of at most k/2 ones: any two within distance k."""
        m = self.domain_size
        most = m if self.distance == m else self.distance // 2
        return (bits for bits in product((0, 1), repeat=m) if sum(bits) <= most)


def _gather_bits(vector: int, places: Sequence[int], last: int) -> int:
    """Return the bits at `places` of a vector whose place 0 is bit `last`, in their order."""
    bits = 0
    for place in places:
        bits = bits << 1 | (vector >> (last - place) & 1)
    return bits
