"""The law of an online session's transcript for given queries, written from its definition.

A transcript has one entry a query: None where the prediction was the answer, the released raw count
where the session learnt. Sums over the threshold's noise, so for few queries and little noise only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_central.pmf import Pmf
from deniable_central.queries.count_data import CountData
from deniable_central.queries.domain_weights import OnlineWeights
from deniable_central.queries.online_plan import OnlinePlan
from deniable_central.queries.workload import Floats, Integers, checked_integers

Transcript = tuple[int | None, ...]
_EXPONENT = 64.0  # threshold noise beyond e^−64 is left out
_RELATIVE = Fraction(1, 10**11)
_ABSOLUTE = Fraction(1, 10**24)


@dataclass(frozen=True, slots=True)
class _Path:
    """Decisions so far: the transcript, what was tested, and the chance of the released noise."""

    transcript: Transcript
    tests: tuple[tuple[int, bool], ...]
    chance: float


def online_pmf(
    plan: OnlinePlan, data: CountData, queries: Sequence[npt.ArrayLike], *, reach: int
) -> Pmf[Transcript]:
    """Every transcript whose released counts have noise of at most `reach`; not for release.

    Bounds are 10^−11 of the probability apart, plus 10^−24. The queries must differ.
    """
    checked = [checked_integers(query, argument="query", dimensions=1) for query in queries]
    test = ThresholdTest(plan)
    outcomes, lower, upper = [], [], []
    for path in _paths(plan, data, checked, reach):
        chance = Fraction(path.chance * test.chance(path.tests))
        outcomes.append(path.transcript)
        lower.append(chance * (1 - _RELATIVE))
        upper.append(chance * (1 + _RELATIVE) + _ABSOLUTE)
    return Pmf(tuple(outcomes), tuple(lower), tuple(upper))


def _paths(
    plan: OnlinePlan, data: CountData, queries: Sequence[Integers], reach: int
) -> Iterator[_Path]:
    paths = [_Path((), (), 1.0)]
    for place, query in enumerate(queries):
        true = int(data.observe(query[None])[0])
        paths = [
            longer
            for path in paths
            for longer in _branches(plan, path, true, query, queries[:place], reach)
        ]
    return iter(paths)


def _branches(
    plan: OnlinePlan,
    path: _Path,
    true: int,
    query: Integers,
    before: Sequence[Integers],
    reach: int,
) -> Iterator[_Path]:
    public = OnlineWeights(plan)
    for earlier, count in zip(before, path.transcript, strict=True):
        if count is not None:
            public.learn(earlier, count)
    if public.exhausted:
        yield _Path((*path.transcript, None), path.tests, path.chance)
        return
    error = abs(true - public.predict(query))
    yield _Path((*path.transcript, None), (*path.tests, (error, False)), path.chance)
    rate = float(plan.decays[2])
    scale = -math.expm1(-rate) / (1 + math.exp(-rate))
    for noise in range(-reach, reach + 1):
        chance = path.chance * scale * math.exp(-rate * abs(noise))
        yield _Path((*path.transcript, true + noise), (*path.tests, (error, True)), chance)


class ThresholdTest:
    """The sparse vector alone: tests are |t − P| of each query, and whether it was to teach."""

    def __init__(self, plan: OnlinePlan) -> None:
        of_threshold, of_test, _ = map(float, plan.decays)
        farthest = math.ceil(_EXPONENT / of_threshold)
        noise = np.arange(-farthest, farthest + 1)
        normal = -math.expm1(-of_threshold) / (1 + math.exp(-of_threshold))
        self._chances: Floats = normal * np.exp(-of_threshold * np.abs(noise))
        self._thresholds = plan.threshold + noise
        self._rate = of_test
        self._cache: dict[tuple[tuple[int, bool], ...], float] = {}

    def chance(self, tests: tuple[tuple[int, bool], ...]) -> float:
        """Pr[all of them come out so], over the noise of the threshold and of every test."""
        if tests not in self._cache:
            product = self._chances.copy()
            for error, learnt in tests:
                above = self._tail(self._thresholds - error)
                product *= above if learnt else self._tail(1 + error - self._thresholds)
            self._cache[tests] = float(product.sum())
        return self._cache[tests]

    def _tail(self, k: Integers) -> Floats:
        """Pr[N ≥ k]."""
        far = np.exp(-self._rate * np.where(k > 0, k, 1 - k)) / (1 + math.exp(-self._rate))
        tail: Floats = np.where(k > 0, far, 1 - far)
        return tail
