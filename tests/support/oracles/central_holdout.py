"""Exact laws of a holdout that answers again and again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial

import numpy as np

from support.oracles.central_accounting import UP, Law

Decays = tuple[Fraction, Fraction, Fraction]
_REACH = 400


def _geometric(decay: float, at: Law) -> Law:
    z = math.exp(-decay)
    law: Law = (1 - z) / (1 + z) * z ** np.abs(at)
    return law


def _tail(decay: float, k: Law) -> Law:
    """Pr[N ≥ k]."""
    z = math.exp(-decay)
    far = z ** np.where(k > 0, k, 1 - k) / (1 + z)
    tail: Law = np.where(k > 0, far, 1 - far)
    return tail


@lru_cache(maxsize=256)
def _above(decay: float, threshold: int, error: int) -> Law:
    """The chance that noise lifts the error above the threshold with each noise of its own."""
    return _tail(decay, threshold + np.arange(-_REACH, _REACH + 1, dtype=float) - error)


def flags_law(
    decays: Decays, threshold: int, errors: Sequence[int]
) -> dict[tuple[bool, ...], float]:
    """When |t − guess| of the queries are these: which is the first to overfit, if any."""
    of_threshold, of_test, _ = map(float, decays)
    noise = np.arange(-_REACH, _REACH + 1, dtype=float)
    passed = _geometric(of_threshold, noise)
    law: dict[tuple[bool, ...], float] = {}
    for number, error in enumerate(errors):
        above = _above(of_test, threshold, error)
        law[(*[False] * number, True)] = float((passed * above).sum())
        passed = passed * (1 - above)
    law[(False,) * len(errors)] = float(passed.sum())
    return law


def _patterns(overfits: int, queries: int) -> Iterator[tuple[bool, ...]]:
    """All courses: until the last query, or the last correction."""
    for flags in itertools.product((False, True), repeat=queries):
        ends = [i + 1 for i in range(queries) if sum(flags[: i + 1]) == overfits]
        if not ends or ends[0] == queries:
            yield flags


def _chance(
    decays: Decays, threshold: int, errors: Sequence[int], flags: Sequence[bool], offsets: float
) -> float:
    """Of a course, times the answers' chances; offsets: how far all answers lie from the truth."""
    of_threshold, of_test, of_answer = map(float, decays)
    noise = np.arange(-_REACH, _REACH + 1, dtype=float)
    weights = _geometric(of_threshold, noise)
    for error, flag in zip(errors, flags, strict=True):
        above = _above(of_test, threshold, error)
        weights = weights * (above if flag else 1 - above)
    answers = float(_geometric(of_answer, np.array([offsets]))[0]) ** sum(flags)
    return float(weights.sum()) * answers


def check_sparse_vector(
    decays: Decays,
    threshold: int,
    overfits: int,
    *,
    epsilon: float,
    scale: int = 1,
    tight: float = 0.0,
) -> None:
    """No course of three queries, with its answers, separates two neighbours by more than e^ε.

    One row moves each count by `scale`, up or down, or not; answers lie far to one side.
    """
    worst = 0.0
    chance = cache(partial(_chance, decays, threshold))
    for errors in itertools.product((0, 10, 50), repeat=3):
        for moves in itertools.product((-scale, 0, scale), repeat=3):
            other = tuple(abs(error + move) for error, move in zip(errors, moves, strict=True))
            for flags in _patterns(overfits, 3):
                one = chance(errors, flags, 50)
                two = chance(other, flags, 50 + scale)
                worst = max(worst, abs(math.log(one / two)))
    assert worst <= epsilon * UP
    assert worst >= tight * epsilon


def check_gap(gap: Callable[[Fraction], Fraction]) -> None:
    """The law of a row given any outcome moves no mean further than the gap, and one that far."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        bound, worst = float(gap(epsilon)), 0.0
        for options in range(2, 12):
            e = math.exp(epsilon)
            truth, lie = e / (e + options - 1), 1 / (e + options - 1)
            likelihood = np.full(options, lie)
            likelihood[0] = truth
            for prior in _priors(options):
                posterior = prior * likelihood / (prior @ likelihood)
                worst = max(worst, float(np.maximum(posterior - prior, 0).sum()))
        assert 0.99 * bound <= worst <= bound * UP


def _priors(options: int) -> Iterator[Law]:
    """The first option of any probability, the others alike."""
    for first in np.linspace(0.01, 0.99, 99).tolist():
        yield np.array([first, *[(1 - first) / (options - 1)] * (options - 1)])
