"""Checks for randomizers: ε holds for every pair of answers, exactly."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import lcm
from typing import TypeVar

from deniable_shared.domains import Bits, Choice, Domain
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms import Chain, Mechanism, ids_for_domain_type, mechanism_ids
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import at_most_exp
from support.doubles.scripted_coins import exact_law
from support.tiers import grid

Encoded = int | tuple[int, ...]
Law = dict[bytes, Fraction]
M = TypeVar("M", bound=Mechanism)

EPSILONS = tuple(map(Fraction, ("0.01", "0.5", "1", "4", "10", "20")))
SOME = (Fraction("0.5"), Fraction(4))
EACH_EPSILON = grid(EPSILONS, by_default=SOME)
"""Two by default, all of them in the exhaustive tier."""
GAP = Fraction(1, 10**15)


def by_size() -> list[str]:
    """Mechanisms that need to know no more of a domain than its size."""
    return [id for id in mechanism_ids() if {"bits", "choice", "number"} & {*domain_types(id)}]


def domain_types(id: str) -> list[str]:
    return [
        type for type in ("bits", "choice", "number", "record") if id in ids_for_domain_type(type)
    ]


def bits(m: int) -> Iterable[Bits]:
    """Every domain of m bits: free, one-hot, and at most s for each s."""
    labels = tuple("abcdefgh"[:m])
    yield Bits(labels)
    yield Bits(labels, one_hot=True)
    yield from (Bits(labels, at_most=s) for s in range(1, m + 1))


def choices(d: int) -> Choice:
    return Choice(tuple("abcdefgh"[:d]))


def valid_inputs(domain: Domain) -> list[Encoded]:
    """Every encoded value, by asking the domain about every candidate."""
    if not isinstance(domain, Bits):
        return list(range(domain.size))
    candidates = product((0, 1), repeat=domain.size)
    return [vector for vector in candidates if _is_valid(domain, vector)]


def _is_valid(domain: Bits, vector: tuple[int, ...]) -> bool:
    if domain.one_hot:
        return sum(vector) == 1
    return domain.at_most is None or sum(vector) <= domain.at_most


def laws(mechanism: Mechanism, inputs: Iterable[Encoded]) -> list[Law]:
    """The exact law of the shipped `randomize` for each input, enumerated."""
    return [_law(mechanism, value) for value in inputs]


def _law(mechanism: Mechanism, value: Encoded) -> Law:
    return exact_law(lambda coins: mechanism.randomize(value, coins))


def largest_ratio(of: Sequence[Law]) -> Fraction:
    """The largest P[y|x]/P[y|x'] over all pairs of inputs and all payloads, every one possible.

    In whole numbers of one denominator: to compare fractions takes most of the time.
    """
    payloads = set().union(*of)
    assert all(law.keys() == payloads for law in of), "some payload rules some input out"
    scale = lcm(*{chance.denominator for law in of for chance in law.values()})
    ways = [
        {y: chance.numerator * (scale // chance.denominator) for y, chance in law.items()}
        for law in of
    ]
    most, least = 0, 1
    for y in payloads:
        column = [law[y] for law in ways]
        high, low = max(column), min(column)
        if high * least > most * low:
            most, least = high, low
    return Fraction(most, least)


def check_private(of: Sequence[Law], epsilon: Fraction) -> None:
    """No payload separates two inputs by more than e^ε."""
    assert at_most_exp(largest_ratio(of), epsilon)


def check_tight(of: Sequence[Law], epsilon: Fraction) -> None:
    """Some payload separates some two inputs by e^ε, up to a relative 1e-15."""
    assert is_tight(of, epsilon)


def is_tight(of: Sequence[Law], epsilon: Fraction) -> bool:
    """Whether some payload does."""
    return not at_most_exp(largest_ratio(of) / (1 - GAP), epsilon)


def check_follows_pmf(mechanism: Mechanism, inputs: Iterable[Encoded]) -> None:
    """`randomize` has exactly the law that `pmf` states."""
    for value in inputs:
        assert _law(mechanism, value) == mechanism.pmf(value)


def validated(mechanism: Mechanism) -> tuple[set[bytes], set[str]]:
    """All payloads of the right length that `validate` accepts, and how it refuses the others."""
    accepted, reasons, size = set(), set(), mechanism.payload_size
    for number in range(256**size):
        payload = number.to_bytes(size, "big")
        try:
            mechanism.validate(payload)
        except DecodeError as error:
            reasons.add(str(error))
        else:
            accepted.add(payload)
    return accepted, reasons


def check_below_is_uniform(below: Callable[[Coins, int], int], bound: int) -> None:
    """Every integer below the bound is equally likely, over all draws that are accepted."""
    law = exact_law(lambda coins: below(coins, bound).to_bytes(2, "big"))
    assert law == {n.to_bytes(2, "big"): Fraction(1, bound) for n in range(bound)}, bound


def check_keyed_by_value(derive: Callable[[Encoded], Coins], inputs: Iterable[Encoded]) -> None:
    """No two values ever read one stream: a repeated stream would show their difference openly."""
    streams = sorted(derive(value).bytes(16) for value in inputs)
    assert all(one != other for one, other in pairwise(streams))


def with_threshold(mechanism: M, threshold: int) -> M:
    """The same mechanism with another T."""
    twin = copy.copy(mechanism)
    object.__setattr__(twin, "threshold", threshold)
    if hasattr(twin, "_flip"):
        object.__setattr__(twin, "_flip", (1 << 64) - threshold)
    return twin


def with_renewal_threshold(chain: Chain, threshold: int) -> Chain:
    """The same chain with another A."""
    twin = copy.copy(chain)
    object.__setattr__(twin, "renewal_threshold", threshold)
    return twin
