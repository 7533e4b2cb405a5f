"""Fourier marginals: one parity of at most k yes-or-no attributes, sent as one bit.

    α uniform among the C non-empty sets of at most k = `ways` of m attributes, public
    b = parity of the attributes in α that have their second label, sent with probability

        p = T/2^64, else the other bit: q = 1 − p        p/q ≤ e^ε, as close as 64 bits allow

The mean of (−1)^b over the people is a coefficient c_α, and a marginal of j ≤ k attributes is

    P[γ] = 2^(−j)·Σ_(α ⊆ β) (−1)^(parity of γ in α)·c_α        β the attributes, c_∅ = 1

The choice of α does not depend on the value, so the report costs what its one bit costs: ε.

Payload: 2·(place of α) + b, big-endian, in as few whole bytes as hold 2C − 1. The sets are in order
of their size, then as words of rising places: {0}, {1}, …, {0, 1}, {0, 2}, …
Source: Cormode, Kulkarni, Srivastava 2018 (InpHT); docs/mathematics/records.md, Parities of
attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.protocols import check_radices
from deniable_shared.mechanisms.structure import OneOf, OneOfParts
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

MAX_COEFFICIENTS = 1 << 19
"""The most parities: a tally has two integers for each."""

_USUAL_WAYS = 2


@dataclass(frozen=True, slots=True)
class FourierMarginals(IndexToSymbol):
    """m = `attributes` of two labels each, marginals of up to k = `ways` of them."""

    id: ClassVar[str] = "fourier/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"record"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"tables"})
    parameters: ClassVar[tuple[str, ...]] = ("ways",)
    alphabet_size: ClassVar[int] = 2
    attributes: int
    epsilon: Fraction
    ways: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    coefficients: int = field(init=False)

    def __post_init__(self) -> None:
        m, k = self.attributes, self.ways
        check_radices((2,) * m)
        if not 1 <= k <= m:
            raise ParameterError(f"ways must lie in [1, {m}], got {k}")
        many = sum(comb(m, size) for size in range(1, k + 1))
        if many > MAX_COEFFICIENTS:
            raise ParameterError(
                f"ways must give at most {MAX_COEFFICIENTS:,} parities, got {many:,}: "
                "ask for marginals of fewer attributes"
            )
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))
        object.__setattr__(self, "payload_size", bytes_for(2 * many))
        object.__setattr__(self, "coefficients", many)

    @classmethod
    def create(
        cls,
        radices: tuple[int, ...],
        epsilon: Fraction,
        *,
        report: Fraction,
        given: Mapping[str, int],
    ) -> Self:
        """See `RecordMechanismClass`. `ways` is 2 if it is not given."""
        if any(radix != 2 for radix in radices):  # two labels each
            raise ParameterError(
                f"{cls.id} is made for attributes of two labels, got {max(radices)}: use pairs/1"
            )
        return cls(len(radices), epsilon, given.get("ways", _USUAL_WAYS))

    @property
    def radices(self) -> tuple[int, ...]:
        """Two labels per attribute."""
        return (2,) * self.attributes

    @property
    def domain_size(self) -> int:
        """The number of combinations of all attributes."""
        return 1 << self.attributes

    @property
    def tally_size(self) -> int:
        """For each parity, the reports that say it is even, then those that say it is odd."""
        return 2 * self.coefficients

    @property
    def q(self) -> Fraction:
        """Exact probability that a parity is flipped."""
        return 1 - self.p

    @property
    def sampling_fraction(self) -> Fraction:
        """One parity of C."""
        return Fraction(1, self.coefficients)

    @property
    def public_outcomes(self) -> int:
        """C, the number of parities."""
        return self.coefficients

    @property
    def structure(self) -> OneOfParts:
        """A parity, even or odd."""
        return OneOfParts((OneOf(2),), self.coefficients)

    @property
    def disclosure(self) -> str:
        """What a report reveals about a record."""
        return (
            f"a report has one of {self.coefficients:,} parities, which one is public; tables of "
            f"up to {self.ways} attributes follow, of more nothing is known"
        )

    def cell_gap(self, gap: float) -> float:
        """A report is about one of three parities."""
        return 2 * gap

    def cell_influence(self, gap: float) -> float:
        """The skew of a parity is at most twice its mean, C/n, and a cell has a quarter of each."""
        return self.coefficients / 2

    def cell_errors(self, kept: Fraction) -> dict[int, Fraction]:
        """n·Var of a cell of two attributes, by the number of their cells: three parities each.

        `kept` is that of a chain, else 1. Raises ParameterError for marginals of one attribute
        only.
        """
        if self.ways < _USUAL_WAYS:
            raise ParameterError("ways must be at least 2 for tables of two attributes, got 1")
        return {4: Fraction(3 * self.coefficients, 16) / (kept * (self.p - self.q)) ** 2}

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw α by `public`, its bit by `coins`. Raises DomainError unless 0 ≤ value < 2^m."""
        index = self._checked(value)
        place = (coins if public is None else public).below(self.coefficients)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(place, self._parity(place, index) ^ flip)  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _parity(self, place: int, index: int) -> int:
        last = self.attributes - 1
        mask = sum(1 << (last - each) for each in set_at(place, self.attributes))
        return (mask & index).bit_count() & 1

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == self._parity(place, label)


def set_at(place: int, attributes: int) -> tuple[int, ...]:
    """Return the set of attributes at a place: by size, then as words of rising places."""
    size = 1
    while place >= comb(attributes, size):
        place -= comb(attributes, size)
        size += 1
    chosen: list[int] = []
    least = 0
    for missing in range(size, 0, -1):
        while place >= (with_it := comb(attributes - least - 1, missing - 1)):
            place -= with_it
            least += 1
        chosen.append(least)
        least += 1
    return tuple(chosen)


def place_of(chosen: Sequence[int], attributes: int) -> int:
    """Return the place of a set of rising attributes: the inverse of `set_at`."""
    size = len(chosen)
    smaller = sum(comb(attributes, fewer) for fewer in range(1, size))
    skipped = 0
    least = 0
    for missing, each in zip(range(size, 0, -1), chosen, strict=True):
        skipped += sum(comb(attributes - i - 1, missing - 1) for i in range(least, each))
        least = each + 1
    return smaller + skipped
