"""Exact thresholds: the only module that turns ε into a probability.

`support_size` of `alphabet_size` messages support the true answer. A report is one of these with
probability T/2^bits:

    T = ⌊2^bits · wE/(wE + K − w)⌋        E = e^ε, K = alphabet_size, w = support_size

E is transcendental for every rational ε > 0. So it is enclosed between two rationals, whose
precision doubles until both give the same T. Hence (T/w)/((2^bits − T)/(K − w)) ≤ e^ε exactly, and
T + 1 would exceed it: privacy is never rounded in our favour. No floats are used.

A report that renews a permanent answer keeps each symbol with probability A/2^bits, and otherwise
draws it again among all K. `renewal_threshold` returns the A that spends ε on one such report.

Source: docs/mathematics/thresholds-and-coins.md, The threshold T.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from deniable_shared.errors import ParameterError

SCALE = 1 << 64
"""A threshold T of 64 bits means the probability T/SCALE."""

_DECIMAL = re.compile(r"[0-9]{1,2}(\.[0-9]{1,6})?")
_MICRO = 10**6
_FIRST_BITS = 128  # decides almost every threshold and ratio of 64 bits at once
_PRINTABLE_BITS = 128


def parse_epsilon(
    value: str | int | Fraction,
    *,
    argument: str = "epsilon",
    low: Fraction = Fraction(1, 100),
    high: Fraction = Fraction(20),
) -> Fraction:
    """Read an ε exactly.

    A string has one or two digits and at most six decimals; its form is checked before any
    arithmetic. Raises ParameterError unless low ≤ ε ≤ high.
    """
    epsilon = _exact(value, argument)
    if not low <= epsilon <= high:
        raise ParameterError(
            f"{argument} must lie in [{_as_text(low)}, {_as_text(high)}], got {_as_text(epsilon)}"
        )
    return epsilon


def _exact(value: object, argument: str) -> Fraction:
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise ParameterError(
                f'{argument} must be a decimal like "1" or "0.5", at most two digits before the '
                f"point and six after it, got {value[:20]!r}"
            )
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise ParameterError(
            f"{argument} must be a string, an int or a Fraction, got {type(value).__name__}: "
            'write it as a string, like "0.5"'
        )
    return Fraction(value)


def format_epsilon(epsilon: Fraction) -> str:
    """Return the shortest decimal, which `parse_epsilon` reads back.

    Raises ParameterError for a negative number or more than six decimals.
    """
    micro = epsilon * _MICRO
    if epsilon < 0 or micro.denominator != 1:
        raise ParameterError(
            f"epsilon must be at least 0 and have at most six decimals, got {_as_text(epsilon)}"
        )
    whole, part = divmod(micro.numerator, _MICRO)
    return f"{whole}.{part:06d}".rstrip("0") if part else str(whole)


def _as_text(epsilon: Fraction) -> str:
    if max(epsilon.numerator.bit_length(), epsilon.denominator.bit_length()) > _PRINTABLE_BITS:
        return "a number of very many digits"
    return str(epsilon) if epsilon < 0 or _MICRO % epsilon.denominator else format_epsilon(epsilon)


def exp_bounds(epsilon: Fraction, *, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals lower < e^ε < upper, at most e^ε·2^−bits apart, for rational ε > 0.

    ε is halved until it is at most ½. The Taylor sum and its remainder are rounded outwards in
    integers, and both ends are squared back, rounded outwards again.
    """
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be positive, got {_as_text(epsilon)}")
    if bits < 1:
        raise ParameterError(f"bits must be at least 1, got {bits}")
    halvings = (2 * epsilon.numerator // epsilon.denominator).bit_length()
    precision = bits + 2 * halvings + bits.bit_length() + 8
    low, high = _exp_up_to_half(epsilon / 2**halvings, precision)
    for _ in range(halvings):
        low, high = low * low >> precision, (high * high >> precision) + 1
    return Fraction(low, 1 << precision), Fraction(high, 1 << precision)


def _exp_up_to_half(x: Fraction, precision: int) -> tuple[int, int]:
    """Return integers around 2^precision · e^x for 0 < x ≤ ½."""
    low_term = high_term = low = high = 1 << precision
    k = 0
    while high_term > 1:
        k += 1
        low_term = low_term * x.numerator // (x.denominator * k)
        high_term = high_term * x.numerator // (x.denominator * k) + 1
        low += low_term
        high += high_term
    return low, high + high_term  # x/k ≤ ½: all further terms together are below the last one


@lru_cache(maxsize=1024)
def threshold(
    epsilon: Fraction, *, alphabet_size: int = 2, support_size: int = 1, bits: int = 64
) -> int:
    """Return T = ⌊2^bits · wE/(wE + K − w)⌋, exactly, for K = alphabet_size and w = support_size.

    Raises ParameterError unless 1 ≤ w < K.
    """
    if not 1 <= support_size < alphabet_size:
        raise ParameterError(
            f"support_size must lie in [1, {alphabet_size - 1}], got {support_size}"
        )
    precision = max(_FIRST_BITS, 2 * bits)
    while True:
        low, high = (
            _floor_share(bound, alphabet_size, support_size, bits)
            for bound in exp_bounds(epsilon, bits=precision)
        )
        if low == high:
            return low
        precision *= 2


def _floor_share(e: Fraction, alphabet_size: int, support_size: int, bits: int) -> int:
    inside = support_size * e.numerator
    return (inside << bits) // (inside + (alphabet_size - support_size) * e.denominator)


@lru_cache(maxsize=1024)
def renewal_threshold(
    permanent_threshold: int,
    epsilon: Fraction,
    *,
    alphabet_size: int = 2,
    support_size: int = 1,
    bits: int = 64,
) -> int:
    """Return the largest A < 2^bits with which one renewed report costs at most ε, exactly.

        A = ⌊2^bits · (E − 1)/(w(E − 1) + K) / g⌋        g = P − Q

    P = T/(w·2^bits) is the chance of each of w supporting symbols in the permanent answer, and Q =
    (1 − wP)/(K − w) that of each other symbol. T is `permanent_threshold`, K = `alphabet_size`, w =
    `support_size`, E = e^ε. With a = A/2^bits, a symbol of one report has the chance aP + (1 − a)/K
    or aQ + (1 − a)/K. Their ratio is at most E if a·g ≤ (E − 1)/(w(E − 1) + K).

    Raises ParameterError if the permanent answer costs no more than ε: there is nothing to renew.
    """
    others = alphabet_size - support_size
    gap = Fraction(
        alphabet_size * permanent_threshold - (support_size << bits), support_size * others << bits
    )
    precision = max(_FIRST_BITS, 2 * bits)
    while gap > 0:
        low, high = (
            _floor_kept(bound, alphabet_size, support_size, gap, bits)
            for bound in exp_bounds(epsilon, bits=precision)
        )
        if low >> bits:
            break
        if low == high:
            return low
        precision *= 2
    raise ParameterError(
        f"permanent must cost more than one report, whose epsilon is {_as_text(epsilon)} a symbol: "
        "raise permanent or lower epsilon"
    )


def _floor_kept(
    e: Fraction, alphabet_size: int, support_size: int, gap: Fraction, bits: int
) -> int:
    above = e.numerator - e.denominator
    spread = (support_size * above + alphabet_size * e.denominator) * gap.numerator
    return (above * gap.denominator << bits) // spread


def at_most_exp(ratio: Fraction, epsilon: Fraction) -> bool:
    """Return whether ratio ≤ e^ε, decided exactly for every rational ε ≥ 0."""
    if epsilon == 0:
        return ratio <= 1
    precision = _FIRST_BITS
    while True:
        low, high = exp_bounds(epsilon, bits=precision)
        if ratio <= low:
            return True
        if ratio >= high:
            return False
        precision *= 2
