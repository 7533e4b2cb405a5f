"""Sampled pairs: of a record two attributes, which ones is tossed openly, told at full ε.

    (i, j) uniform among the P = m(m − 1)/2 pairs of attributes, tossed without the value
    x_i·r_j + x_j, a choice among d = r_i·r_j, told by `subset/1` at ε with its best w for a report

Which pair is told depends on no value, so the report costs what the choice costs: ε, for the whole
record. With the best w a pair is told with the least total error there is (`optimum`).

A pair of few labels has a larger share w/d than one of many, and so a smaller T. `threshold`, p and
q are those of the pair of least w/d. In a chain that pair decides A: the A that keeps ε rises with
w/d, so it keeps ε for all the others, too (local-dp §9, with ρ = w/d: A/2^64 is at most
(E − 1)(ρE′ + 1 − ρ)/((E′ − 1)(ρE + 1 − ρ)), E′ of the permanent answer).

Payload: the place of the pair among (0, 1), (0, 2), …, (1, 2), …, big-endian, in as few whole bytes
as hold P − 1; then that of the choice, zero padded to the longest.
Sources: Nguyên et al. 2016; Cormode, Kulkarni, Srivastava 2018; local-dp §13.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.domain import bytes_for, split
from deniable_shared.dyadic import parse_epsilon
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms.contract import check_radices
from deniable_shared.mechanisms.subset import MAX_SUBSET_DOMAIN, SubsetResponse

__all__ = ["MAX_PAIR_TALLY", "SampledPairs"]

MAX_PAIR_TALLY = 1 << 20
"""Most integers in a tally: 8 MiB."""

_MAX_PAYLOADS = 65_536


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """Two of the attributes that have `radices` labels; `choices` are the best for a `report`.

    `narrowest` is the choice of least w/d.
    """

    id: ClassVar[str] = "pairs/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"record"})
    parameters: ClassVar[tuple[str, ...]] = ()
    places: ClassVar[int] = 1
    differing: ClassVar[int] = 1
    radices: tuple[int, ...]
    epsilon: Fraction
    report: Fraction
    pairs: tuple[tuple[int, int], ...] = field(init=False)
    choices: tuple[SubsetResponse, ...] = field(init=False, repr=False)
    narrowest: SubsetResponse = field(init=False, repr=False)
    payload_size: int = field(init=False)
    _head: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_radices(self.radices)
        pairs = tuple(combinations(range(len(self.radices)), 2))
        sizes = [self.radices[i] * self.radices[j] for i, j in pairs]
        _check_sizes(sizes)
        told = {size: _choice(size, parse_epsilon(self.epsilon), self.report) for size in {*sizes}}
        head = bytes_for(len(pairs))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "choices", tuple(told[size] for size in sizes))
        object.__setattr__(self, "narrowest", min(told.values(), key=_share))
        object.__setattr__(self, "_head", head)
        longest = max(choice.payload_size for choice in told.values())
        object.__setattr__(self, "payload_size", head + longest)

    @classmethod
    def create(
        cls,
        radices: tuple[int, ...],
        epsilon: Fraction,
        *,
        report: Fraction,
        given: Mapping[str, int],
    ) -> Self:
        """See `contract.RecordKind`."""
        return cls(radices, epsilon, report)

    @property
    def domain_size(self) -> int:
        """Number of combinations of all attributes."""
        return prod(self.radices)

    @property
    def tally_size(self) -> int:
        """One count of reports a pair, then for each pair one count of supports a joint code."""
        return len(self.pairs) + sum(choice.domain_size for choice in self.choices)

    @property
    def threshold(self) -> int:
        """T of the pair of least w/d; those of the others follow from ε as well."""
        return self.narrowest.threshold

    @property
    def p(self) -> Fraction:
        """Exact probability that the true joint code of that pair is supported."""
        return self.narrowest.p

    @property
    def q(self) -> Fraction:
        """Exact probability that one given other joint code of that pair is supported."""
        return self.narrowest.q

    @property
    def symbols(self) -> int:
        """A symbol is a set of joint codes: as many as that pair has."""
        return self.narrowest.symbols

    @property
    def favoured(self) -> int:
        """The sets that hold one joint code of that pair."""
        return self.narrowest.favoured

    @property
    def told(self) -> Fraction:
        """One pair of P."""
        return Fraction(1, len(self.pairs))

    @property
    def public_choices(self) -> int:
        """P."""
        return len(self.pairs)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """The pair by `public`, its joint code by `coins`; DomainError unless 0 ≤ value < size."""
        digits = self._digits(value)
        place = (coins if public is None else public).below(len(self.pairs))
        told = self.choices[place].randomize(self._code(digits, place), coins)
        return self._payload(place, told)

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The same pair; its set kept with probability keep/2^64, else any set of its size."""
        place, told = self.read(permanent)
        return self._payload(place, self.choices[place].renewed(told, keep, coins))

    def read(self, payload: bytes) -> tuple[int, bytes]:
        """The place of the pair, and what is told of it."""
        place = int.from_bytes(payload[: self._head], "big")
        return place, payload[self._head : self._head + self.choices[place].payload_size]

    def _payload(self, place: int, told: bytes) -> bytes:
        return (place.to_bytes(self._head, "big") + told).ljust(self.payload_size, b"\0")

    def _digits(self, value: int | Sequence[int]) -> tuple[int, ...]:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return split(value, self.radices)

    def _code(self, digits: Sequence[int], place: int) -> int:
        i, j = self.pairs[place]
        return digits[i] * self.radices[j] + digits[j]

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether it supports what a combination says of the pair that is told."""
        place, told = self.read(payload)
        return self.choices[place].supports(told, self._code(self._digits(label), place))

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` names a pair, and one of its sets, zero padded."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload[: self._head], "big") >= len(self.pairs):
            raise DecodeError(f"payload must name a pair in [0, {len(self.pairs) - 1}]")
        place, told = self.read(payload)
        if any(payload[self._head + len(told) :]):
            raise DecodeError("payload must be padded with zeros")
        self.choices[place].validate(told)

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload; ParameterError beyond 65,536 payloads."""
        digits = self._digits(value)
        payloads = sum(choice.symbols for choice in self.choices)
        if payloads > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf: use fewer labels"
            )
        return {
            self._payload(place, told): self.told * chance
            for place, choice in enumerate(self.choices)
            for told, chance in choice.pmf(self._code(digits, place)).items()
        }

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of every payload that `renewed` can give."""
        place, told = self.read(permanent)
        law = self.choices[place].renewed_pmf(told, keep)
        return {self._payload(place, drawn): chance for drawn, chance in law.items()}

    def inputs(self) -> Iterator[int]:
        """Every combination."""
        return iter(range(self.domain_size))


def _share(choice: SubsetResponse) -> tuple[Fraction, int]:
    """w/d; of equal ones the smaller pair first, so that it is always the same."""
    return Fraction(choice.subset_size, choice.domain_size), choice.domain_size


def _choice(size: int, epsilon: Fraction, report: Fraction) -> SubsetResponse:
    return SubsetResponse.create(size, epsilon, report=report, given={})


def _check_sizes(sizes: Sequence[int]) -> None:
    if max(sizes) > MAX_SUBSET_DOMAIN:
        raise ParameterError(
            f"two attributes must have at most {MAX_SUBSET_DOMAIN:,} pairs of labels, "
            f"got {max(sizes):,}: merge rare labels"
        )
    if len(sizes) + sum(sizes) > MAX_PAIR_TALLY:
        raise ParameterError(
            f"all pairs of attributes must have at most {MAX_PAIR_TALLY - len(sizes):,} pairs of "
            f"labels, got {sum(sizes):,}: ask for fewer attributes, or merge rare labels"
        )
