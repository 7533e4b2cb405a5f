"""Exact laws of trees and Haar, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import cast

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import simulated_tally
from deniable_shared.mechanisms import Mechanism, build
from deniable_shared.mechanisms.memoization import MemoizedChain
from support.oracles.message_laws import generator

__all__ = ["SMALL", "a_long_time", "every_level_once", "expected_tally", "hierarchy"]

SMALL = [
    ("tree/1", 2, {"fan_out": 2}),
    ("tree/1", 4, {"fan_out": 2}),
    ("tree/1", 5, {"fan_out": 3}),
    ("tree/1", 7, {"fan_out": 2}),
    ("tree/1", 6, {"fan_out": 6}),
    ("haar/1", 2, {}),
    ("haar/1", 5, {}),
    ("haar/1", 8, {}),
]
"""Small ones: whole trees and others, one level and several."""


def hierarchy(
    id: str, size: int, epsilon: str, permanent: str | None = None, /, **parameters: int
) -> HierarchyEstimator:
    if permanent is None:
        mechanism = build(id, domain_size=size, epsilon=epsilon, **parameters)
    else:
        mechanism = build(id, domain_size=size, epsilon=epsilon, permanent=permanent, **parameters)
    return cast(HierarchyEstimator, estimator_for(mechanism))


def _laws(of: HierarchyEstimator, shares: Floats) -> list[list[tuple[float, Counts]]]:
    """For each level every tally of one report and its chance, given the level."""
    laws: dict[tuple[int, ...], dict[bytes, float]] = {}
    for value, weight in enumerate(shares):
        for payload, chance in of.mechanism.pmf(value).items():
            result = laws.setdefault(_level(of, payload), {})
            result[payload] = result.get(payload, 0.0) + weight * float(
                chance / of.mechanism.sampling_fraction
            )
    return [
        [(chance, _tally(of, payload)) for payload, chance in laws[level].items()]
        for level in sorted(laws)
    ]


def _level(of: HierarchyEstimator, payload: bytes) -> tuple[int, ...]:
    tally = _tally(of, payload)
    if of.mechanism.id == "haar/1":
        return ((int(np.argmax(tally)) // 2 + 1).bit_length(),)
    return (int(np.argmax(tally)),)


def _tally(of: HierarchyEstimator, payload: bytes) -> Counts:
    return of.tally(np.frombuffer(payload, dtype=np.uint8)[None, :])


def every_level_once(of: HierarchyEstimator, shares: Floats) -> Iterator[tuple[float, Counts, int]]:
    """All tallies of h reports, one for each level: chance, tally, h."""
    laws = _laws(of, shares)
    for drawn in product(*laws):
        yield (
            float(np.prod([chance for chance, _ in drawn])),
            np.sum([tally for _, tally in drawn], axis=0),
            len(laws),
        )


def expected_tally(of: HierarchyEstimator, shares: Floats, each: int) -> tuple[Counts, int]:
    """The mean tally of `each` reports a level, as near as integers can be, and their number."""
    tally, reports = np.zeros(of.mechanism.tally_size, dtype=np.int64), 0
    for law in _laws(of, shares):
        chances = np.array([chance for chance, _ in law])
        counts = np.floor(chances * each).astype(np.int64)
        counts[int(np.argmax(counts))] += each - counts.sum()
        tally += np.sum([k * one for k, (_, one) in zip(counts, law, strict=True)], axis=0)
        reports += each
    return tally, reports


def a_long_time(of: HierarchyEstimator, shares: Floats, *, epochs: int, devices: int) -> Counts:
    """Reports of devices whose value never changes, in all epochs: drawn again or renewed."""
    people = generator().multinomial(devices, shares)
    mechanism = of.mechanism
    if not isinstance(mechanism, MemoizedChain):
        return simulated_tally(mechanism, np.arange(len(shares)), epochs * people)
    first, renewed, tallies = _chain(mechanism)
    rows = zip(people, first, strict=True)
    answers = np.sum([generator().multinomial(k, law) for k, law in rows], axis=0)
    result = [
        generator().multinomial(epochs * k, law)
        for k, law in zip(answers.tolist(), renewed, strict=True)
    ]
    return np.asarray(np.sum(result, axis=0) @ tallies)


@lru_cache(maxsize=4)
def _chain(mechanism: MemoizedChain) -> tuple[Floats, Floats, Counts]:
    """The laws of the permanent answer and of its reports, and what each adds."""
    first = cast(Mechanism, mechanism.first)
    payloads = list(first.pmf(0))

    def row(law: dict[bytes, Fraction]) -> Floats:
        chances = np.array([float(law.get(payload, 0)) for payload in payloads])
        return np.asarray(chances / chances.sum())

    permanent = np.array([row(first.pmf(value)) for value in range(first.domain_size)])
    keep = mechanism.renewal_threshold
    renewed = np.array(
        [row(mechanism.first.rerandomized_pmf(payload, keep)) for payload in payloads]
    )
    of = cast(HierarchyEstimator, estimator_for(mechanism))
    return permanent, renewed, np.array([_tally(of, payload) for payload in payloads])
