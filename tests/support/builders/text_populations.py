"""Populations with words, and their tallies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.mechanisms.prefix_hash import PrefixHashEstimator
from deniable_estimators.simulation import simulated_texts
from deniable_shared import mechanisms

Ints = npt.NDArray[np.int64]


def estimator_of(epsilon: str, max_bytes: int, **parameters: int) -> PrefixHashEstimator:
    mechanism = mechanisms.build(
        "prefix-hash/1", domain_size=max_bytes, epsilon=epsilon, **parameters
    )
    estimator = estimator_for(mechanism)
    assert isinstance(estimator, PrefixHashEstimator)
    return estimator


def zipf(words: int) -> npt.NDArray[np.float64]:
    weights = np.asarray(1 / np.arange(1, words + 1), dtype=np.float64)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def tally_of(estimator: PrefixHashEstimator, words: Sequence[bytes], people: Ints) -> Ints:
    """The tally of people[i] devices with words[i], in the law of `randomize`."""
    return simulated_texts(estimator.mechanism, words, people)
