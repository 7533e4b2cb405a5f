"""RAPPOR: a Bloom filter of the text, with permanent noise, then with new noise in each report.

    truth      m bits of a Bloom filter with h hash functions, which the cohort decides
    permanent  (PRR) each bit unchanged with P, else flipped: f = 2(1 − P) is drawn at random
    report     (IRR) each permanent bit kept with a = A/2^64, else a fair coin:
               1 with (1 + a)/2 where the permanent bit is 1, with (1 − a)/2 where it is 0

    ε∞ = 2h·ln((1 − f/2)/(f/2))        ε1 = h·ln(q*(1 − p*)/(p*(1 − q*)))

as in the original with its q = (1 + a)/2 and p = 1 − q, where q* = 1 − p* is the chance that a
report has a bit unchanged. T and A are the largest integers that keep both ε. Without a chain there
is only the first round, at ε. The bits are those of the original's clients: byte i of MD5 of the
cohort (four bytes, big-endian) and the text, modulo m, for i = 0 … h − 1. So m is a power of two up
to 256, and two of a text's bits may be the same. β = 1 − (1 − 1/m)^h. Sources: Erlingsson, Pihur,
Korolova 2014; docs/mathematics/texts.md, Sketches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import md5
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.bit_sketch import BitSketch

if TYPE_CHECKING:
    from collections.abc import Mapping

_COHORTS, _BITS, _HASHES = 64, 128, 2
_MOST_BITS, _MOST_HASHES = 256, 16


@dataclass(frozen=True, slots=True)
class Rappor(BitSketch):
    """A text of up to `domain_size` bytes; `tables` cohorts of filters of `cells` bits."""

    id: ClassVar[str] = "rappor/1"
    parameters: ClassVar[tuple[str, ...]] = ("tables", "cells", "hashes")
    hashes: int = field(default=_HASHES)  # pyright: ignore[reportIncompatibleMethodOverride]  # a field is as good as a property

    def __post_init__(self) -> None:
        if not 1 <= self.hashes <= _MOST_HASHES:
            raise ParameterError(f"hashes must lie in [1, {_MOST_HASHES}], got {self.hashes}")
        if self.cells > _MOST_BITS:
            raise ParameterError(
                f"cells must be at most {_MOST_BITS}, the values of a byte, got {self.cells}"
            )
        super(Rappor, self).__post_init__()

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`."""
        shape = (given.get("tables", _COHORTS), given.get("cells", _BITS))
        return cls(domain_size, epsilon, *shape, given.get("hashes", _HASHES))

    @property
    def collision_probability(self) -> Fraction:
        """1 − (1 − 1/m)^h."""
        return 1 - (1 - Fraction(1, self.cells)) ** self.hashes

    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """The bits of the filter that are set, each once, in the order of the hash functions."""
        digest = md5(table.to_bytes(4, "big") + text, usedforsecurity=False).digest()
        return tuple(dict.fromkeys(byte % self.cells for byte in digest[: self.hashes]))
