"""How supports of several choices vary together: the error of a sum, such as a marginal.

A report supports N of the s choices in a set C. If the mechanism treats all choices alike, then

    p = P[v supported | x = v]                    q = P[v supported | x ≠ v]
    r = P[x and v supported | x],  v ≠ x          t = P[u and v supported | x],  u ≠ v, both ≠ x

decide every mean and covariance of such counts, and (N − s·q)/(p − q) is unbiased for the frequency
of C. Grr supports one choice: r = t = 0. Unary encodings toss each bit by itself: r = pq, t = q². A
set of w holds x or not and is uniform otherwise: r = p(w−1)/(d−1). For hadamard/1, the parities of
two choices agree for half of all coefficients, independently of a third one's. The designs of
affine/1 have no t: it depends on the places of u, v and x.
Source: docs/mathematics/supports-and-estimates.md, Joint supports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, cast

from deniable_shared.errors import ParameterError


class _Structure(Protocol):
    def joint_supports(self, p: Fraction, q: Fraction) -> JointSupports | None: ...


class _Mechanism(Protocol):
    """The part of `mechanisms.protocols.Mechanism` that this module needs, without an import."""

    @property
    def id(self) -> str: ...

    @property
    def p(self) -> Fraction: ...

    @property
    def q(self) -> Fraction: ...

    @property
    def structure(self) -> _Structure | None: ...


class _Renewable(_Mechanism, Protocol):
    @property
    def alphabet_size(self) -> int: ...

    @property
    def support_size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class JointSupports:
    """p, q, r and t of the module. A report supports at most `max_support` of the choices.

    `group_size` choices can be supported as one: all choices of a parity. The choices of a set are
    drawn one by one.
    """

    p: Fraction
    q: Fraction
    r: Fraction
    t: Fraction
    max_support: int
    group_size: int = 1

    @classmethod
    def of(cls, mechanism: _Mechanism, *, kept: Fraction = Fraction(1)) -> JointSupports:
        """Return the law of one report of a mechanism for a choice.

        `kept` is the chance that a symbol of a permanent answer is kept, as in a chain. Such a
        report has the law of the mechanism with other p and q. Raises ParameterError if t is not
        one number.
        """
        structure = mechanism.structure
        if structure is None:
            raise ParameterError(
                f"sums of choices, and tables, are not available for {mechanism.id}"
            )
        law = structure.joint_supports(*_kept(mechanism, kept))
        if law:
            return law
        raise ParameterError(
            f"mechanism {mechanism.id} has no one error for sums of choices: for tables of a "
            "record that can be tested for association take subset/1, hadamard/1 or pairs/1"
        )

    @property
    def gap(self) -> Fraction:
        """Return p − q."""
        return self.p - self.q

    def mean(self, size: int, *, inside: bool) -> Fraction:
        """Return E N for a set of `size` choices; `inside`: the true choice is one of them."""
        return size * self.q + (self.gap if inside else 0)

    def square(self, size: int, *, inside: bool) -> Fraction:
        """Return E N²."""
        others = size - inside
        among = others * (others - 1) * self.t
        if not inside:
            return others * self.q + among
        return self.p + others * self.q + 2 * others * self.r + among

    def product(self, size: int, other: int, *, inside: bool) -> Fraction:
        """E N·N′ of two sets with no choice in common; `inside`: the first has the true choice."""
        if not inside:
            return size * other * self.t
        return other * (self.r + (size - 1) * self.t)

    def variance(self, size: int, frequency: Fraction) -> Fraction:
        """Return n·Var of the frequency of a set, for people drawn from a population."""
        mean = self.mean(size, inside=False) + frequency * self.gap
        square = frequency * self.square(size, inside=True)
        square += (1 - frequency) * self.square(size, inside=False)
        return (square - mean * mean) / self.gap**2


def _kept(mechanism: _Mechanism, kept: Fraction) -> tuple[Fraction, Fraction]:
    """Return p and q of one report: see `chains`."""
    if kept == 1:
        return mechanism.p, mechanism.q
    first = cast("_Renewable", mechanism)
    blurred = (1 - kept) * first.support_size / first.alphabet_size
    return kept * first.p + blurred, kept * first.q + blurred
