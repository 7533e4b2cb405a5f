"""Bit flipping on t of D buckets: whether the number lies in each; the choice of buckets is public.

    t places of D, all sets equally likely, then for each whether it is the bucket of the answer,
    sent truthfully with probability

        p = T/2^64        q = 1 − p        (p/q)^min(t, 2) ≤ e^ε, as close as 64 bits allow

The answer is one yes among D bits, so two answers differ in two of them. In one sampled place they
differ in at most one, and it has all of ε. This is `rr-sampled/1` on bits of which one is set. The
buckets are the values of the domain: its `step` is their width.

If t is not given it is 1. One place at all of ε is worth 4·cosh²(ε/4) places at ε/2 each, so up to
four are never better. Payload: as that of `rr-sampled/1`.
Sources: Ding, Kulkarni, Yekhanin 2017; docs/mathematics/sampling.md, Buckets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import MAX_BITS
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.mechanisms.rr_sampled import SampledResponse
from deniable_shared.mechanisms.structure import SampledBits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

_YESES = 2  # in which two answers differ


@dataclass(frozen=True, slots=True)
class BucketFlips(SampledResponse):
    """t = `sampled` of D = `domain_size` buckets."""

    id: ClassVar[str] = "dbitflip/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    parameters: ClassVar[tuple[str, ...]] = ("sampled",)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. One bucket is sent unless `sampled` says otherwise."""
        if not 2 <= domain_size <= MAX_BITS:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_BITS}], got {domain_size}: choose a longer step"
            )
        return cls(domain_size, epsilon, _YESES, given.get("sampled", 1))

    @property
    def structure(self) -> SampledBits:
        """t of D bits, of which one is true."""
        return SampledBits(self.domain_size, self.sampled, exclusive=True)

    def _pack_bits(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return 1 << (self.domain_size - 1 - value)

    def inputs(self) -> Iterator[int]:
        """Yield every index."""
        return iter(range(self.domain_size))
