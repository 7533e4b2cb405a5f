"""Longitudinal local hashing: a public hash function, and the answer's cell of g with noise.

    h_a public, a uniform among M; the cell h_a(x) sent with p, the others equally likely

    p = T/2^64        (T/1) / ((2^64 − T)/(g − 1)) ≤ e^ε, as close as 64 bits allow

A value x < K = g^t has t digits in base g, elements of F_g, the last one x_0. The functions are all
linear forms on such vectors, up to a factor. There are M = (K − 1)/(g − 1) of them:

    h_a(x) = x_k + Σ_{j<k} r_j·x_j        a = (g^k − 1)/(g − 1) + r,  0 ≤ r < g^k

Any two values share a cell under equally many functions: (w − 1)/(K − 1) of all, w = K/g. So no
assumption about a hash is needed, p and q = (w − p)/(K − 1) are exactly those of `subset/1` on K
values, and a tally of the M·g messages is enough. With fewer than (d − 1)/(g − 1) functions of g
cells, the shares of d values do not follow from all cells: no such family is smaller.

In a chain the function belongs to the permanent answer, and the cell is kept or drawn again among
all g. If they are not given, g and t are those of least total error of the d choices for one
report, decided at a lower bound of e^ε. g is at most 4e^ε + 8, t ≥ 2 is the least with K ≥ d, and K
is at most 16(d + 1) and 2^18.

Payload: a·g + cell, big-endian, in as few whole bytes as hold the largest.
Sources: Wang, Blocki, Li, Jha 2017; Arcolezi, Pinzón, Palamidessi, Gambs 2023;
docs/mathematics/designs.md, Linear hashes.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.algebra.finite_fields import prime_power
from deniable_shared.algebra.inner_products import inner_products
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.analysis.optimal_error import design_error
from deniable_shared.domains import INDEXED, bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.structure import Design
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import exp_bounds, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.randomness.coins import Coins

MAX_HASHED_CODES = 1 << 18
"""The largest K: a tally has up to twice as many integers."""

_BITS = 96
_MOST_SPREAD = 16
_LEAST_DIMENSION = 2  # one digit has one function, which is grr/1


@dataclass(frozen=True, slots=True)
class LocalHashing(IndexToSymbol):
    """d = `domain_size` choices among K codes of t = `dimension` digits; g = `field_order`."""

    id: ClassVar[str] = "loloha/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("field_order", "dimension")
    domain_size: int
    epsilon: Fraction
    field_order: int
    dimension: int
    codes: int = field(init=False)
    public_outcomes: int = field(init=False)  # pyright: ignore[reportIncompatibleMethodOverride]  # a field is as good as a property
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        d, g, t = self.domain_size, self.field_order, self.dimension
        _check_family(d, g, t)
        cut = threshold(parse_epsilon(self.epsilon), alphabet_size=g)
        object.__setattr__(self, "codes", g**t)
        object.__setattr__(self, "public_outcomes", point_count(g, t))
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "payload_size", bytes_for(self.tally_size))
        object.__setattr__(self, "_starts", tuple(point_count(g, place) for place in range(t)))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. Field order and dimension default to the best for one report."""
        if given and given.keys() != set(cls.parameters):
            raise ParameterError(f"{cls.id} takes field_order and dimension together, or neither")
        if given:
            return cls(domain_size, epsilon, *(given[name] for name in cls.parameters))
        _check_domain(domain_size)
        return cls(domain_size, epsilon, *best_family(domain_size, report))

    @property
    def tally_size(self) -> int:
        """The number of functions times cells; each has a count of reports."""
        return self.public_outcomes * self.field_order

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other code."""
        return (self.codes // self.field_order - self.p) / (self.codes - 1)

    @property
    def alphabet_size(self) -> int:
        """A symbol is a cell."""
        return self.field_order

    def hashed(self, function: int, value: int) -> int:
        """Return h_a(x)."""
        g, products = self.field_order, inner_products(self.field_order)
        place = bisect_right(self._starts, function) - 1
        rest, factors, digits = function - self._starts[place], [], []
        for _ in range(place):
            rest, factor = divmod(rest, g)
            value, digit = divmod(value, g)
            factors.append(factor)
            digits.append(digit)
        return products.of(value % g, products.operands(factors), products.operands(digits))

    @property
    def structure(self) -> Design:
        """The codes in one cell of a function; any two codes agree under equally many functions."""
        functions, each = self.public_outcomes, self.codes // self.field_order
        return Design(self.codes, each, functions * self.field_order, classes=functions)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw a function by `public`, a cell by `coins`.

        Raises DomainError unless 0 ≤ value < d.
        """
        index = self._checked(value)
        function = (coins if public is None else public).below(self.public_outcomes)
        truthful = coins.bernoulli(self.threshold)
        other = coins.below(self.field_order - 1)  # always drawn: run time reveals nothing
        true = self.hashed(function, index)
        other += other >= true  # skip over the true cell
        return self._payload(function, (other, true)[truthful])  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _supports_value(self, function: int, cell: int, label: int) -> bool:
        return cell == self.hashed(function, label)


@lru_cache(maxsize=256)
def best_family(domain_size: int, epsilon: Fraction) -> tuple[int, int]:
    """Return (g, t) of least total error; fewer cells win a tie."""
    e, _ = exp_bounds(epsilon, bits=_BITS)
    near = min(MAX_HASHED_CODES, _MOST_SPREAD * (domain_size + 1))
    most = min(int(4 * e) + 8, isqrt(near))
    families = (
        (design_error(domain_size, g**t, g ** (t - 1), e), g, t)
        for g in range(2, most + 1)
        if prime_power(g) is not None
        for t in [_dimension(domain_size, g)]
        if g**t <= near
    )
    _, g, t = min(families)
    return g, t


def _dimension(domain_size: int, g: int) -> int:
    """Return the least dimension with enough codes."""
    t = _LEAST_DIMENSION
    while g**t < domain_size:
        t += 1
    return t


def _check_domain(domain_size: int) -> None:
    if not 2 <= domain_size <= MAX_HASHED_CODES:
        raise ParameterError(
            f"domain_size must lie in [2, {MAX_HASHED_CODES}], got {domain_size}: "
            "affine/1 and projective/1 take up to 1,000,000 choices"
        )


def _check_family(domain_size: int, g: int, t: int) -> None:
    _check_domain(domain_size)
    if prime_power(g) is None:
        raise ParameterError(
            f"field_order must be a prime, or a power of one up to 128, got {g}: "
            "leave it out to get the best"
        )
    if not _LEAST_DIMENSION <= t <= MAX_HASHED_CODES.bit_length():
        raise ParameterError(f"dimension must be at least {_LEAST_DIMENSION}, got {t}: use grr/1")
    if not domain_size <= g**t <= MAX_HASHED_CODES:
        raise ParameterError(
            f"field_order and dimension must give {domain_size} to {MAX_HASHED_CODES} codes, "
            f"got {g**t}"
        )
