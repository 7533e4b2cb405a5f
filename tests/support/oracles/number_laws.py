"""Distributions of numbers, and tallies drawn from the exact law of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats
from deniable_shared.domains import Number
from deniable_shared.mechanisms import Mechanism
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.oracles.message_laws import generator

__all__ = ["SHAPES", "a_month", "drawn_tally", "pmf_matrix", "scale"]


def scale(size: int) -> Number:
    """0, 1, …, size − 1."""
    return Number(Fraction(0), Fraction(size - 1), Fraction(1))


def _beta(size: int) -> Floats:
    middle = (np.arange(size) + 0.5) / size
    return _normalized(middle**4 * (1 - middle))


def _bimodal(size: int) -> Floats:
    middle = (np.arange(size) + 0.5) / size
    low, high = (np.exp(-(((middle - at) / 0.07) ** 2) / 2) for at in (0.25, 0.7))
    return _normalized(low + high)


def _spiky(size: int) -> Floats:
    """Zipf's law, its ranks scattered over the scale."""
    ranks = np.array([place * 37 % size for place in range(size)])
    return _normalized(1 / (1.0 + ranks))


def _normalized(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


SHAPES: dict[str, Callable[[int], Floats]] = {"beta": _beta, "bimodal": _bimodal, "spiky": _spiky}


def pmf_matrix(mechanism: Mechanism) -> Floats:
    """(values, payloads), payloads in the order of their bytes."""
    return _matrix(cast(Hashable, mechanism))


@lru_cache(maxsize=8)
def _matrix(mechanism: Mechanism) -> Floats:
    laws = [mechanism.pmf(value) for value in range(mechanism.domain_size)]
    payloads = sorted(laws[0])
    return np.array([[float(law[payload]) for payload in payloads] for law in laws])


def a_month(
    mechanism: Mechanism, repeat: str, shares: Floats, *, epochs: int, devices: int
) -> Counts:
    """Reports of devices whose value never changes, in all epochs: drawn again or renewed."""
    rng = generator()
    people = rng.multinomial(devices, shares)
    if not isinstance(mechanism, MemoizedChain):
        if repeat != "fresh":
            raise ValueError(f"repeat must be fresh without a chain, got {repeat}")
        return _told(epochs * people, pmf_matrix(mechanism))
    answers = _told(people, pmf_matrix(mechanism.first))
    kept, size = float(mechanism.keep_probability), len(answers)
    return _told(epochs * answers, kept * np.eye(size) + (1 - kept) / size)


def _told(people: Counts, laws: Floats) -> Counts:
    rows = [
        generator().multinomial(k, law / law.sum()) for k, law in zip(people, laws, strict=True)
    ]
    return np.asarray(np.sum(rows, axis=0))


def drawn_tally(mechanism: Mechanism, shares: Floats, n: int) -> Counts:
    """A histogram of payloads of n people drawn from the shares."""
    law = shares @ pmf_matrix(mechanism)
    return np.asarray(generator().multinomial(n, law / law.sum()))
