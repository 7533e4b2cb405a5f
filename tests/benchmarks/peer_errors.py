"""The least total error that each peer's frequency oracles have, at the parameters they carry.

n times the total variance of d frequencies by the formula of pure protocols, with p, q or the size
of a set read from the peer's own objects: what they would reach unbiased. multi-freq-ldpy returns
only clipped and renormalised frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.peers import module

LARGEST_SET_DOMAIN = 10_000  # a set of a quarter of 60,000 labels takes its client seconds


def least(size: int, epsilon: float) -> tuple[str, float] | None:
    """(peer and oracle, n·L2) of the best there is; None where no peer imports."""
    actual = [*_pure_ldp(size, epsilon), *_multi_freq(size, epsilon)]
    return min(actual, key=lambda each: each[1], default=None)


def _total(p: float, q: float, size: int) -> float:
    return (p * (1 - p) + (size - 1) * q * (1 - q)) / (p - q) ** 2


def _pure_ldp(size: int, epsilon: float) -> Iterator[tuple[str, float]]:
    library = module("pure_ldp.frequency_oracles")
    if library is None:
        return
    direct = library.DEServer(epsilon=epsilon, d=size)
    yield "pure-ldp DE", _total(direct.p, direct.q, size)
    for name, optimal in (("SUE", False), ("OUE", True)):
        unary = library.UEServer(epsilon=epsilon, d=size, use_oue=optimal)
        yield f"pure-ldp {name}", _total(unary.p, unary.q, size)
    hashing = library.LHServer(epsilon=epsilon, d=size, use_olh=True)
    yield "pure-ldp OLH", _total(hashing.p, 1 / hashing.g, size)


def _multi_freq(size: int, epsilon: float) -> Iterator[tuple[str, float]]:
    library = module("multi_freq_ldpy.pure_frequency_oracles.SS")
    if library is None or size > LARGEST_SET_DOMAIN:
        return
    chosen = len(library.SS_Client(0, size, epsilon))
    if not 0 < chosen < size:
        return
    whole = chosen * math.exp(epsilon) + size - chosen
    p = chosen * math.exp(epsilon) / whole
    yield f"multi-freq-ldpy SS, sets of {chosen:,}", _total(p, (chosen - p) / (size - 1), size)
