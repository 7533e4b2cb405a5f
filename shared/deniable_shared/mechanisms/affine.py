"""Affine thresholds: sets of w of K codes that two numbers name, one holding the true code with p.

    c uniform in 1 … (K − 1)/2, b in 0 … K − 1, K an odd prime ≥ d
    (c, b) supports {v: cv + b mod K < w}

    p = T/2^64        q = (w − p)/(K − 1)        (T/w) / ((2^64 − T)/(K − w)) ≤ e^ε

Each code is in equally many of these sets and so is each pair of codes: for u ≠ v the pair
(cu + b, cv + b) takes every pair of different values once as c and b run over everything, and −c
names the sets of c again. So p and q are those of `subset/1` on K choices, in 2·log2 K − 1 bits and
a time that does not grow with d. Codes from d on stand for nothing: their estimates are 0 but for
noise, and show it if reports are made up.

If they are not given, K is the smallest odd prime ≥ d, as no larger one has been seen to do better
(d < 400, ε ≤ 6.5), and w the one of least total error of the d choices for one report, exactly.

Payload: (c − 1)K + b, big-endian, in as few whole bytes as hold the largest.
Sources: Carter, Wegman 1979; Feldman, Talwar 2021; Pan 2026; local-dp §4.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.domain import INDEXED, bytes_for
from deniable_shared.dyadic import parse_epsilon, threshold
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.optimum import best_size

__all__ = ["MAX_AFFINE_DOMAIN", "AffineResponse", "prime_from"]

MAX_AFFINE_DOMAIN = 1_000_000

_SCALE = 1 << 64
_MAX_PAYLOADS = 65_536


def prime_from(least: int) -> int:
    """The smallest odd prime that is at least `least`."""
    number = max(3, least | 1)
    while not _is_odd_prime(number):
        number += 2
    return number


@dataclass(frozen=True, slots=True)
class AffineResponse:
    """d = `domain_size` choices among K = `modulus` codes; a set has w = `subset_size` of them."""

    id: ClassVar[str] = "affine/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    parameters: ClassVar[tuple[str, ...]] = ("modulus", "subset_size")
    places: ClassVar[int] = 1
    differing: ClassVar[int] = 1
    public_choices: ClassVar[int] = 1
    told: ClassVar[Fraction] = Fraction(1)
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
        cut = threshold(parse_epsilon(self.epsilon), messages=k, favoured=w)
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "multipliers", k >> 1)
        object.__setattr__(self, "payload_size", bytes_for(self.symbols))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`; `modulus` and `subset_size` are the best for a report."""
        _check_domain(domain_size)
        modulus = given["modulus"] if "modulus" in given else prime_from(domain_size)
        _check_modulus(domain_size, modulus)
        if "subset_size" in given:
            return cls(domain_size, epsilon, modulus, given["subset_size"])
        return cls(domain_size, epsilon, modulus, best_size(domain_size, modulus, report))

    @property
    def tally_size(self) -> int:
        """One count of supports a code."""
        return self.modulus

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports the true choice."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other code."""
        return (self.subset_size - self.p) / (self.modulus - 1)

    @property
    def symbols(self) -> int:
        """A symbol is c and b together."""
        return self.multipliers * self.modulus

    @property
    def favoured(self) -> int:
        """The messages that support one code."""
        return self.multipliers * self.subset_size

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """c and b with cx + b below w, or not; DomainError unless 0 ≤ value < d."""
        index, k, w = self._checked(value), self.modulus, self.subset_size
        inside = coins.bernoulli(self.threshold)
        before = coins.below(self.multipliers)
        near = coins.below(w)
        far = w + coins.below(k - w)  # both always drawn: work must not tell the outcome
        shift = ((far, near)[inside] - (before + 1) * index) % k
        return (before * k + shift).to_bytes(self.payload_size, "big")

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The message kept with probability keep/2^64, else any of all."""
        kept = coins.bernoulli(keep)
        drawn = coins.below(self.symbols)  # always drawn: work must not tell the outcome
        return (drawn.to_bytes(self.payload_size, "big"), permanent)[kept]

    def _checked(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether cv + b mod K < w."""
        return self._holds(int.from_bytes(payload, "big"), label)

    def _holds(self, message: int, label: int) -> bool:
        before, shift = divmod(message, self.modulus)
        return ((before + 1) * label + shift) % self.modulus < self.subset_size

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` is one of the K(K − 1)/2 messages in its one length."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload, "big") >= self.symbols:
            raise DecodeError(f"payload must hold a number in [0, {self.symbols - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload; ParameterError beyond 65,536 payloads."""
        index = self._checked(value)
        inside = self.p / self.favoured
        outside = (1 - self.p) / (self.symbols - self.favoured)
        return {
            message.to_bytes(self.payload_size, "big"): (
                inside if self._holds(message, index) else outside
            )
            for message in self._messages()
        }

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of every payload that `renewed` can give."""
        drawn = Fraction(_SCALE - keep, _SCALE * self.symbols)
        law = {each.to_bytes(self.payload_size, "big"): drawn for each in self._messages()}
        law[permanent] += Fraction(keep, _SCALE)
        return law

    def _messages(self) -> range:
        if self.symbols > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got {self.symbols:,}: "
                "use fewer choices"
            )
        return range(self.symbols)

    def inputs(self) -> Iterator[int]:
        """Every index."""
        return iter(range(self.domain_size))


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
