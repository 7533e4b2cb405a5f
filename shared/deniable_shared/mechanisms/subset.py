"""Subset selection: a set of w choices, which holds the true one with probability p.

    p = T/2^64        q = (w − p)/(d − 1)        (T/w) / ((2^64 − T)/(d − w)) ≤ e^ε

All sets that hold the true choice are equally likely, and so are all others. A set supports each
choice in it. With the best w this has the least total error of all mechanisms that keep ε, for
every d (`optimal_error`); w = 1 is `grr/1`. If w is not given it is the best for one report.

Floyd's algorithm draws w of N = d − 1 items with one draw for each place last = N − w … N − 1. Its
last w − 1 draws choose w − 1 of them. So the first draw is an item, or N, which represents the true
choice; the others are the same in both cases. Then N and the true choice change places.

Payload: the w indices in rising order, big-endian, in as few whole bytes each as hold d − 1; or a
bit a choice, the first most significant, zero padded, unless the indices are shorter.
Sources: Wang et al. 2016; Ye, Barg 2018; Floyd 1987; docs/mathematics/designs.md, Subset selection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.analysis.optimal_error import best_subset_size
from deniable_shared.domains import INDEXED, bytes_for, pack
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.structure import Subset
from deniable_shared.mechanisms.symbol_payload import IndexInput
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

MAX_SUBSET_DOMAIN = 4_096
"""The most choices, as many as `rr/1` has bits. `affine/1` takes more, in a few bytes."""

_MAX_PAYLOADS = 65_536
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True, slots=True)
class SubsetResponse(IndexInput):
    """w = `subset_size` of d = `domain_size` choices."""

    id: ClassVar[str] = "subset/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    targets: ClassVar[frozenset[str]] = frozenset({"tables"})
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("subset_size",)
    domain_size: int
    epsilon: Fraction
    subset_size: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    listed: bool = field(init=False)
    _index_size: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        d, w = self.domain_size, self.subset_size
        _check_domain(d)
        if not 1 <= w < d:
            raise ParameterError(f"subset_size must lie in [1, {d - 1}], got {w}")
        index_size, as_bits = bytes_for(d), (d + 7) >> 3
        as_indices = w * index_size
        cut = threshold(parse_epsilon(self.epsilon), alphabet_size=d, support_size=w)
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "payload_size", min(as_indices, as_bits))
        object.__setattr__(self, "listed", as_indices < as_bits)
        object.__setattr__(self, "_index_size", index_size)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. `subset_size` defaults to the best for a report."""
        _check_domain(domain_size)
        if "subset_size" in given:
            return cls(domain_size, epsilon, given["subset_size"])
        return cls(domain_size, epsilon, best_subset_size(domain_size, domain_size, report))

    @property
    def tally_size(self) -> int:
        """The number of choices; each has a count of supports."""
        return self.domain_size

    @property
    def q(self) -> Fraction:
        """Exact probability that the set holds one given other choice."""
        return (self.subset_size - self.p) / (self.domain_size - 1)

    @property
    def alphabet_size(self) -> int:
        """The number of sets of w choices; a symbol is one of them."""
        return comb(self.domain_size, self.subset_size)

    @property
    def support_size(self) -> int:
        """The number of sets that hold one choice."""
        return comb(self.domain_size - 1, self.subset_size - 1)

    @property
    def structure(self) -> Subset:
        """Any w of the d choices."""
        return Subset(self.domain_size, self.subset_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return a set that holds the value, or one that does not.

        Raises DomainError unless 0 ≤ value < d.
        """
        index, others = self._checked(value), self.domain_size - 1
        inside = coins.bernoulli(self.threshold)
        item = coins.below(others - self.subset_size + 1)  # always drawn: run time reveals nothing
        chosen = self._completed((item, others)[inside], others, coins)
        chosen[index], chosen[others] = chosen[others], chosen[index]
        return self._payload(chosen)

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep the set with probability keep/2^64, else draw any set of w choices."""
        kept = coins.bernoulli(keep)
        item = coins.below(self.domain_size - self.subset_size + 1)
        drawn = self._completed(item, self.domain_size, coins)
        return (self._payload(drawn), permanent)[kept]

    def _completed(self, first: int, items: int, coins: Coins) -> bytearray:
        """Run Floyd's algorithm over `items` from its second draw on; `first` was drawn before.

        Returns for each of the d choices 1 if the set holds it, else 0.
        """
        chosen = bytearray(self.domain_size)
        chosen[first] = 1
        start = items - self.subset_size + 1
        drawn = coins.below_each(range(start + 1, items + 1))
        for last, item in enumerate(drawn, start):
            chosen[(item, last)[chosen[item]]] = 1
        return chosen

    def _payload(self, chosen: bytes | bytearray) -> bytes:
        """Return the payload of a set, given as 0 or 1 for each of the d choices."""
        if not self.listed:
            return (pack(chosen) << -self.domain_size % 8).to_bytes(self.payload_size, "big")
        indices, at = [], -1
        for _ in range(self.subset_size):
            at = chosen.index(1, at + 1)
            indices.append(at)
        return b"".join(index.to_bytes(self._index_size, "big") for index in indices)

    def _indices(self, payload: bytes) -> list[int]:
        """Return the choices that a payload of indices names, in its order."""
        starts = range(0, len(payload), self._index_size)
        return [int.from_bytes(payload[at : at + self._index_size], "big") for at in starts]

    def _chosen(self, payload: bytes) -> int:
        """Return the set of a payload, choice v as bit v."""
        if not self.listed:
            return int.from_bytes(payload.translate(_REVERSED), "little")
        return sum(1 << index for index in self._indices(payload))

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether the set holds a choice."""
        return bool(self._chosen(payload) >> label & 1)

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless `payload` is a set of w of the d choices, spelled correctly."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if self.listed and any(one >= after for one, after in pairwise(self._indices(payload))):
            raise DecodeError("payload must name choices in rising order")
        chosen = self._chosen(payload)
        if chosen >> self.domain_size:
            raise DecodeError(f"payload must name choices in [0, {self.domain_size - 1}]")
        if chosen.bit_count() != self.subset_size:
            raise DecodeError(
                f"payload must hold {self.subset_size} choices, got {chosen.bit_count()}"
            )

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 65,536 payloads.
        """
        index = self._checked(value)
        self._check_few()
        inside = self.p / self.support_size
        outside = (1 - self.p) / (self.alphabet_size - self.support_size)
        return {
            payload: inside if index in names else outside for names, payload in self._payloads()
        }

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload that `rerandomize` can give."""
        self._check_few()
        drawn = Fraction(SCALE - keep, SCALE * self.alphabet_size)
        law = {payload: drawn for _, payload in self._payloads()}
        law[permanent] += Fraction(keep, SCALE)
        return law

    def _payloads(self) -> Iterator[tuple[tuple[int, ...], bytes]]:
        for names in combinations(range(self.domain_size), self.subset_size):
            yield names, self._payload(bytes(v in names for v in range(self.domain_size)))

    def _check_few(self) -> None:
        if self.alphabet_size > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got the sets of "
                f"{self.subset_size} of {self.domain_size} choices: use fewer choices"
            )


def _check_domain(domain_size: int) -> None:
    if not 2 <= domain_size <= MAX_SUBSET_DOMAIN:
        raise ParameterError(
            f"domain_size must lie in [2, {MAX_SUBSET_DOMAIN}], got {domain_size}: "
            "beyond, use affine/1"
        )
