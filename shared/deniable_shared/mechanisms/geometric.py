"""Geometric responses: one point of K, which supports the w values whose hyperplanes contain it.

    K = (q^t − 1)/(q − 1)      w = (q^(t−1) − 1)/(q − 1)      supports the truth with p = T/2^64

    q* = (w − p)/(K − 1)        (T/w) / ((2^64 − T)/(K − w)) ≤ e^ε, as close as 64 bits allow

Points and values are those of the projective space of t coordinates over F_q. Each value is
supported by w points, and each pair of values by equally many. So p and q* are those of `subset/1`
on K choices, with log2 K bits. Values from d on have no meaning: their estimates are 0 except for
noise, and deviate if reports are fabricated.

`cyclic/1` and `projective/1` number points and values differently: one uses a table, the other
arithmetic. If F_q and t are not given, they are those of least total error of the d choices for one
report, decided at a lower bound of e^ε. q is at most 4e^ε + 8, t ≥ 3 is the least with K ≥ d, and K
is at most 16(d + 1) and within the mechanism's limit.

Payload: the point, big-endian, in as few whole bytes as hold K − 1.
Sources: Feldman, Nelson, Nguyen, Talwar 2022; Park, Nam, Lee 2023; docs/mathematics/designs.md,
Points of a geometry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.algebra.difference_sets import hyperplane_size
from deniable_shared.algebra.finite_fields import prime_power
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

_LEAST_DIMENSION = 3
_BITS = 96
_MOST_SPREAD = 16


@dataclass(frozen=True, slots=True)
class GeometricResponse(IndexToSymbol, ABC):
    """d = `domain_size` choices among K codes, points of t = `dimension` coordinates over F_q."""

    id: ClassVar[str]
    most_choices: ClassVar[int]
    most_codes: ClassVar[int]
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("field_order", "dimension")
    domain_size: int
    epsilon: Fraction
    field_order: int
    dimension: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    alphabet_size: int = field(init=False)
    support_size: int = field(init=False)  # pyright: ignore[reportIncompatibleMethodOverride]  # a field is as good as a property

    def __post_init__(self) -> None:
        codes, size = self._checked_space()
        cut = threshold(parse_epsilon(self.epsilon), alphabet_size=codes, support_size=size)
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "payload_size", bytes_for(codes))
        object.__setattr__(self, "alphabet_size", codes)
        object.__setattr__(self, "support_size", size)

    def _checked_space(self) -> tuple[int, int]:
        """Return K and w. Raises ParameterError if they are out of range."""
        d, q, t, most = self.domain_size, self.field_order, self.dimension, self.most_codes
        self._check_domain(d)
        if prime_power(q) is None:
            raise ParameterError(
                f"field_order must be a prime, or a power of one up to 128, got {q}: "
                "leave it out to get the best"
            )
        if not _LEAST_DIMENSION <= t <= most.bit_length():
            raise ParameterError(f"dimension must be at least {_LEAST_DIMENSION}, got {t}")
        codes = point_count(q, t)
        if not d <= codes <= most:
            raise ParameterError(
                f"field_order and dimension must give {d} to {most} codes, got {codes}: "
                "use affine/1 for more choices"
            )
        return codes, hyperplane_size(q, t)

    @classmethod
    def _check_domain(cls, domain_size: int) -> None:
        if not 2 <= domain_size <= cls.most_choices:
            raise ParameterError(
                f"domain_size must lie in [2, {cls.most_choices}], got {domain_size}: "
                "affine/1 and projective/1 take up to 1,000,000 choices"
            )

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. Field order and dimension default to the best for one report."""
        if given and given.keys() != set(cls.parameters):
            raise ParameterError(f"{cls.id} takes field_order and dimension together, or neither")
        if given:
            return cls(domain_size, epsilon, *(given[name] for name in cls.parameters))
        cls._check_domain(domain_size)
        return cls(domain_size, epsilon, *best_space(domain_size, report, most=cls.most_codes))

    @property
    def tally_size(self) -> int:
        """The number of codes; each has a count of reports."""
        return self.alphabet_size

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other code."""
        return (self.support_size - self.p) / (self.alphabet_size - 1)

    @property
    def structure(self) -> Design:
        """Hyperplanes: as many as there are points."""
        return Design(self.alphabet_size, self.support_size, self.alphabet_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return a point. Raises DomainError unless 0 ≤ value < d."""
        index = self._checked(value)
        inside = coins.bernoulli(self.threshold)
        near = coins.below(self.support_size)
        far = coins.below(
            self.alphabet_size - self.support_size
        )  # both drawn: run time reveals nothing
        return self._draw_code(index, inside, near, far).to_bytes(self.payload_size, "big")

    @abstractmethod
    def _draw_code(self, index: int, inside: bool, near: int, far: int) -> int:
        """Point `near` of the w that support a value if inside, else point `far` of the others."""

    @abstractmethod
    def _supports_value(self, place: int, code: int, index: int) -> bool:
        """Whether a point supports a value."""


@lru_cache(maxsize=256)
def best_space(domain_size: int, epsilon: Fraction, *, most: int) -> tuple[int, int]:
    """Return (q, t) of least total error.

    Raises ParameterError if no space has d to `most` points.
    """
    e, _ = exp_bounds(epsilon, bits=_BITS)
    near = min(most, _MOST_SPREAD * (domain_size + 1))
    spaces = [
        (design_error(domain_size, point_count(q, t), hyperplane_size(q, t), e), q, t)
        for q in range(2, min(int(4 * e) + 8, isqrt(most)) + 1)
        if prime_power(q) is not None and point_count(q, t := _dimension(domain_size, q)) <= near
    ]
    if not spaces:
        raise ParameterError(
            f"domain_size must leave a space of at most {most} points, got {domain_size}: "
            "use affine/1 for more choices"
        )
    _, q, t = min(spaces)
    return q, t


def _dimension(domain_size: int, q: int) -> int:
    """Return the least dimension with enough points."""
    t = _LEAST_DIMENSION
    while point_count(q, t) < domain_size:
        t += 1
    return t
