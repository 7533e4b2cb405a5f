"""How likely each answer is, exactly, for someone who has every report of a device.

By the law of the chain, in rationals, for any number of reports of one permanent answer:

    P[reports | x] = Σ_y P[y | x]·Π_t P[report_t | y]        y: all permanent answers

A symbol that no report shows was drawn again each time; all such y are one term. The symbols of
a vector are renewed each by itself, so that the sum is a product of sums. The public part of
reports is equally likely under all answers and left out: only ratios matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Memoizable
from support.oracles.privacy_checks import Encoded

__all__ = ["likelihood", "likelihood_by_definition", "likelihood_of_vectors"]


def likelihood_by_definition(
    chain: MemoizedChain, reports: Sequence[bytes], answer: Encoded
) -> Fraction:
    """The sum by definition, over all permanent answers: for few."""
    seen = tuple(sorted(Counter(reports).items()))
    return sum(
        (
            chance * _of_permanent(chain.first, chain.renewal_threshold, permanent, seen)
            for permanent, chance in chain.first.pmf(answer).items()
        ),
        Fraction(),
    )


@lru_cache(maxsize=4096)
def _of_permanent(
    first: Memoizable, threshold: int, permanent: bytes, seen: tuple[tuple[bytes, int], ...]
) -> Fraction:
    """How likely reports of one permanent answer are, whichever the answer was."""
    once = first.rerandomized_pmf(permanent, threshold)
    return prod((once.get(sent, Fraction()) ** many for sent, many in seen), start=Fraction(1))


def likelihood_of_vectors(
    chain: MemoizedChain, reports: Sequence[bytes], answer: Encoded
) -> Fraction:
    """The same but for a factor, of vectors that tell nothing openly, by how many bits differ."""
    assert chain.first.alphabet_size == 2
    assert chain.first.public_outcomes == 1
    flip, every = (1 - chain.keep_probability) / 2, chain.first.coordinates * len(reports)
    sent, by_errors = [int.from_bytes(report, "big") for report in reports], dict[int, Fraction]()
    for permanent, chance in chain.first.pmf(answer).items():
        result = int.from_bytes(permanent, "big")
        errors = sum((result ^ each).bit_count() for each in sent)
        by_errors[errors] = by_errors.get(errors, Fraction()) + chance
    wrong, right = flip.numerator, flip.denominator - flip.numerator
    return sum(
        (
            chance * (wrong**errors * right ** (every - errors))
            for errors, chance in by_errors.items()
        ),
        Fraction(),
    )


def likelihood(chain: MemoizedChain, reports: Sequence[bytes], answer: Encoded) -> Fraction:
    """The same but for a factor that no answer changes, for large domains and wide vectors."""
    if chain.first.coordinates > 1 or chain.sampling_fraction < 1:
        return _of_bits(chain, reports, answer)
    return _of_symbol(chain, reports, answer)


def _of_symbol(chain: MemoizedChain, reports: Sequence[bytes], answer: Encoded) -> Fraction:
    assert isinstance(answer, int)
    first, days = chain.first, len(reports)
    drawn = (1 - chain.keep_probability) / first.alphabet_size
    inside = first.p / first.support_size
    outside = (1 - first.p) / (first.alphabet_size - first.support_size)
    never, total = Fraction(1), Fraction()
    for symbol, many in Counter(reports).items():
        chance = inside if first.supports(symbol, answer) else outside
        never -= chance
        total += chance * (drawn + chain.keep_probability) ** many * drawn ** (days - many)
    return total + never * drawn**days


def _of_bits(chain: MemoizedChain, reports: Sequence[bytes], answer: Encoded) -> Fraction:
    first, days, total = chain.first, len(reports), Fraction(1)
    drawn = (1 - chain.keep_probability) / 2
    for label in range(first.domain_size):
        bits = [first.supports(report, label) for report in reports]
        if bits[0] is None:
            assert not any(bit is not None for bit in bits)
            continue
        ones = bits.count(True)
        one = first.p if _supports_value(first, answer, label) else first.q
        kept = (drawn + chain.keep_probability) ** ones * drawn ** (days - ones)
        not_kept = drawn**ones * (drawn + chain.keep_probability) ** (days - ones)
        total *= one * kept + (1 - one) * not_kept
    return total


def _supports_value(first: Memoizable, answer: Encoded, label: int) -> bool:
    return answer == label if isinstance(answer, int) else bool(answer[label])
