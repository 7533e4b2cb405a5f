"""Affine thresholds: two numbers name a set of w of K codes, which holds the true code with p.

    c uniform in 1 … (K − 1)/2, b in 0 … K − 1, K an odd prime ≥ d
    (c, b) supports {v: cv + b mod K < w}

    p = T/2^64        q = (w − p)/(K − 1)        (T/w) / ((2^64 − T)/(K − w)) ≤ e^ε

Each code is in equally many of these sets, and so is each pair of codes: for u ≠ v the pair (cu +
b, cv + b) takes every pair of different values once while c and b run over all values, and −c names
the sets of c again. So p and q are those of `subset/1` on K choices, with 2·log2 K − 1 bits and a
time that does not grow with d. Codes from d on have no meaning: their estimates are 0 except for
noise, and deviate if reports are fabricated.

If they are not given, K is the smallest odd prime ≥ d: no larger one was better in a search over
d < 400 and ε ≤ 6.5. w is the one of least total error of the d choices for one report, exactly.

Payload: (c − 1)K + b, big-endian, in as few whole bytes as hold the largest.
Sources: Carter, Wegman 1979; Feldman, Talwar 2021; Pan 2026; docs/mathematics/designs.md, Affine
thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.analysis.optimal_error import best_subset_size
from deniable_shared.domains import INDEXED, bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.structure import Design
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.randomness.coins import Coins

MAX_AFFINE_DOMAIN = 1_000_000


def prime_from(least: int) -> int:
    """Return the smallest odd prime that is at least `least`."""
    number = max(3, least | 1)
    while not _is_odd_prime(number):
        number += 2
    return number


@dataclass(frozen=True, slots=True)
class AffineResponse(IndexToSymbol):
    """d = `domain_size` choices among K = `modulus` codes; a set has w = `subset_size` of them."""

    id: ClassVar[str] = "affine/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("modulus", "subset_size")
    domain_size: int
    epsilon: Fraction
    modulus: int
    subset_size: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    multipliers: int = field(init=False)

    def __post_init__(self) -> None:
        k, w = self.modulus, self.subset_size
        _check_modulus(self.domain_size, k)
        if not 1 <= w < k:
            raise ParameterError(f"subset_size must lie in [1, {k - 1}], got {w}")
        cut = threshold(parse_epsilon(self.epsilon), alphabet_size=k, support_size=w)
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "multipliers", k >> 1)
        object.__setattr__(self, "payload_size", bytes_for(self.alphabet_size))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`.

        The default `modulus` and `subset_size` are the best for one report.
        """
        _check_domain(domain_size)
        modulus = given["modulus"] if "modulus" in given else prime_from(domain_size)
        _check_modulus(domain_size, modulus)
        if "subset_size" in given:
            return cls(domain_size, epsilon, modulus, given["subset_size"])
        return cls(domain_size, epsilon, modulus, best_subset_size(domain_size, modulus, report))

    @property
    def tally_size(self) -> int:
        """The number of codes; each has a count of supports."""
        return self.modulus

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other code."""
        return (self.subset_size - self.p) / (self.modulus - 1)

    @property
    def alphabet_size(self) -> int:
        """A symbol is c and b together."""
        return self.multipliers * self.modulus

    @property
    def support_size(self) -> int:
        """The messages that support one code."""
        return self.multipliers * self.subset_size

    @property
    def structure(self) -> Design:
        """Windows of w neighbours, over all multipliers a design."""
        return Design(self.modulus, self.subset_size, self.alphabet_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return c and b with cx + b below w, or not. Raises DomainError unless 0 ≤ value < d."""
        index, k, w = self._checked(value), self.modulus, self.subset_size
        inside = coins.bernoulli(self.threshold)
        before = coins.below(self.multipliers)
        near = coins.below(w)
        far = w + coins.below(k - w)  # both always drawn: run time must not reveal the outcome
        shift = ((far, near)[inside] - (before + 1) * index) % k
        return (before * k + shift).to_bytes(self.payload_size, "big")

    def _supports_value(self, place: int, message: int, label: int) -> bool:
        before, shift = divmod(message, self.modulus)
        return ((before + 1) * label + shift) % self.modulus < self.subset_size


def _check_domain(domain_size: int) -> None:
    if not 2 <= domain_size <= MAX_AFFINE_DOMAIN:
        raise ParameterError(f"domain_size must lie in [2, {MAX_AFFINE_DOMAIN}], got {domain_size}")


def _check_modulus(domain_size: int, modulus: int) -> None:
    _check_domain(domain_size)
    if not domain_size <= modulus <= 2 * domain_size or not _is_odd_prime(modulus):
        raise ParameterError(
            f"modulus must be an odd prime in [{domain_size}, {2 * domain_size}], got {modulus}: "
            "leave it out to get the best"
        )


def _is_odd_prime(number: int) -> bool:
    return number > 2 and all(number % divisor for divisor in (2, *range(3, isqrt(number) + 1, 2)))
