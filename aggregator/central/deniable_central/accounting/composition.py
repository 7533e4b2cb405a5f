"""What several releases of the same data cost together, if each is chosen from those before.

    basic          Σε, Σδ, Σρ                                                     any releases
    advanced       kε·tanh(ε/2) + ε√(2k ln(1/δ))                                  k of ε
    bounded range  the (ε, δ) of k·ρ_BR(ε)                                        k draws of EM
    optimal        the least possible ε': that of k answers of randomized         k of (ε, δ0)
                   response, from which every ε-DP release can be computed

The last one needs k and ε that are fixed in advance. `basic` and Σρ also hold if answers decide
them (`budget`). Everything is rounded up. Dwork, Rothblum, Vadhan 2010; Kairouz, Oh, Viswanath
2015.

Source: docs/mathematics/accounting.md, Composition.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_central.accounting.concentrated import epsilon_of
from deniable_central.accounting.parameters import (
    Delta,
    Epsilon,
    read_count,
    read_delta,
    read_epsilon,
)
from deniable_central.accounting.rational_bounds import exp, ln, sqrt, tanh
from deniable_central.errors import AccountError
from deniable_central.guarantee import Guarantee, bounded_range_rho, pure_rho, round_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_WORK = 20_000
_BITS = 192


def basic(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Return the guarantee of all releases together: ε, δ and ρ add up.

    A sum lacks what one of them does not claim. Raises AccountError for no releases, for different
    adjacencies (see `replacement_guarantee`), and for Σδ ≥ 1.
    """
    parts = tuple(guarantees)
    adjacencies = {part.adjacency for part in parts}
    if len(adjacencies) != 1:
        raise AccountError(
            f"guarantees must share one adjacency, got {sorted(adjacencies) or 'none'}: "
            "`replaced` states any of them for replacement"
        )
    delta = sum((part.delta for part in parts), Fraction(0))
    if delta >= 1:
        raise AccountError(f"deltas must add up to less than 1, got {float(delta):.3g}")
    epsilons = [part.epsilon for part in parts if part.epsilon is not None]
    rho = sum(map(concentration, parts), Fraction(0))
    return Guarantee(
        sum(epsilons, Fraction(0)) if len(epsilons) == len(parts) else None,
        None if delta else rho,
        delta,
        adjacencies.pop(),
    )


def concentration(guarantee: Guarantee) -> Fraction:
    """Return ρ that holds except with probability δ: then an (ε, δ) release is one of pure ε."""
    return pure_rho(guarantee.epsilon or Fraction(0)) if guarantee.rho is None else guarantee.rho


def advanced_epsilon(epsilon: Epsilon, *, releases: int, delta: Delta) -> Fraction:
    """Return ε' of `releases` ε-DP releases at δ, by the advanced theorem."""
    each, k = read_epsilon(epsilon), read_count(releases, argument="releases")
    spread = sqrt(2 * k * ln(1 / read_delta(delta))[1])[1]
    return round_up(each * (k * tanh(each / 2)[1] + spread))


def bounded_range_epsilon(epsilon: Epsilon, *, releases: int, delta: Delta) -> Fraction:
    """Ε' of `releases` draws of the exponential mechanism at δ; nothing else may use this."""
    k = read_count(releases, argument="releases")
    return epsilon_of(k * bounded_range_rho(read_epsilon(epsilon)), delta)


def optimal_epsilon(
    epsilon: Epsilon, *, releases: int, delta: Delta, each_delta: Fraction = Fraction(0)
) -> Fraction:
    """Return the least ε' for which `releases` (ε, δ0) releases are (ε', δ)-DP.

    ε and the number of releases must be fixed in advance. Raises AccountError if (1 − δ0)^k leaves
    nothing of δ.
    """
    total = read_delta(delta)
    k = read_count(releases, argument="releases")
    room = 1 - (1 - total) / _kept(each_delta, k)
    if room <= 0:
        raise AccountError(
            f"delta must be above 1 − (1 − each_delta)^{k}, got {float(total):.3g}: fewer "
            "releases, or a smaller delta for each"
        )
    above, below = 1, 1
    for p, q, one in _prefixes(read_epsilon(epsilon), k):
        gained = p - one * room.numerator // room.denominator
        if gained * below > above * q:
            above, below = gained, q
    return round_up(ln(Fraction(above, below))[1])


def optimal_delta(
    epsilon: Epsilon, *, releases: int, target: Epsilon, each_delta: Fraction = Fraction(0)
) -> Fraction:
    """Return the least δ for which the releases are (target, δ)-DP, exact up to rounding."""
    k = read_count(releases, argument="releases")
    bound = exp(read_epsilon(target, argument="target"))[0]
    inner = Fraction(0)
    for p, q, one in _prefixes(read_epsilon(epsilon), k):
        excess = p * bound.denominator - q * bound.numerator
        if excess > 0:
            inner = max(inner, Fraction(excess, one * bound.denominator))
    return round_up(1 - _kept(each_delta, k) * (1 - inner))


def _kept(each_delta: Fraction, releases: int) -> Fraction:
    """Return (1 − δ0)^k."""
    if not 0 <= each_delta < 1:
        raise AccountError(f"each_delta must lie in [0, 1), got {float(each_delta):.3g}")
    return (1 - each_delta) ** releases


def _prefixes(epsilon: Fraction, releases: int) -> Iterator[tuple[int, int, int]]:
    """Yield P and Q of the events "at most m of k answers lie", m = 0 … k, P rounded up and Q down.

    They are the events of the largest likelihood ratio, so δ(ε') is the largest P − e^ε' · Q. An
    honest answer has a probability of at least e^ε/(1 + e^ε): more ε never reveals less. The third
    number is the scale of both.
    """
    if releases * (1 + epsilon) > _MOST_WORK:
        raise AccountError(
            f"releases · (1 + epsilon) must be at most {_MOST_WORK:,} to be composed exactly: "
            "use RenyiCurve, or bounded_range_epsilon for the exponential mechanism"
        )
    width = _BITS + math.ceil(2 * epsilon)
    e = exp(epsilon)[1]
    honest = -(-(e.numerator << width) // (e.numerator + e.denominator))
    lie = (1 << width) - honest
    bits = _BITS + math.ceil(releases * (1 + epsilon * 3 / 2))  # every term has _BITS or more
    one = 1 << bits
    all_honest = _power(honest, releases, width, bits)[1]
    all_lies = _power(lie, releases, width, bits)[0]
    p = q = 0
    for m in range(releases + 1):
        p, q = p + all_honest, q + all_lies
        yield p, q, one
        all_honest = -(-all_honest * (releases - m) * lie // ((m + 1) * honest))
        all_lies = all_lies * (releases - m) * honest // ((m + 1) * lie)


def _power(base: int, exponent: int, width: int, bits: int) -> tuple[int, int]:
    """Return (base/2^width)^exponent, scaled by 2^bits, rounded down and up."""
    low = high = 1 << bits
    for digit in f"{exponent:b}":
        low, high = low * low >> bits, -(-high * high >> bits)
        if digit == "1":
            low, high = low * base >> width, -(-high * base >> width)
    return low, high
