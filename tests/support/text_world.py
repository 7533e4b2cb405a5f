"""Many people with words: tallies of prefix-hash/1 equal in law to those of as many devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable_aggregator import estimators
from deniable_aggregator.estimate.texts import Evidence
from deniable_aggregator.estimators.prefix_hash import PrefixHashEstimator
from deniable_shared import mechanisms
from deniable_shared.mechanisms.prefix_hash import PrefixHash
from support.message_laws import generator

Ints = npt.NDArray[np.int64]


def estimator_of(epsilon: str, max_bytes: int, **parameters: int) -> PrefixHashEstimator:
    mechanism = mechanisms.build(
        "prefix-hash/1", domain_size=max_bytes, epsilon=epsilon, **parameters
    )
    estimator = estimators.for_mechanism(mechanism)
    assert isinstance(estimator, PrefixHashEstimator)
    return estimator


def zipf(words: int) -> npt.NDArray[np.float64]:
    weights = np.asarray(1 / np.arange(1, words + 1), dtype=np.float64)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def tally_of(estimator: PrefixHashEstimator, words: Sequence[bytes], people: Ints) -> Ints:
    """The tally of people[i] devices with words[i], in the law of `randomize`."""
    form, draw = estimator.form, generator()
    has = np.repeat(np.arange(len(words)), people)
    position = draw.integers(form.public_choices, size=len(has))
    table, point = np.divmod(position, form.points)
    evidence = Evidence(estimator, np.zeros(0, np.int64))
    codes = np.concatenate([evidence.codes(s, words)[:, 0] for s in range(form.groups)])
    true = _sums(form, point, codes[table, has])
    lies = draw.integers(form.base - 1, size=len(has))
    truthful = draw.random(len(has)) < float(form.p)
    told = np.where(truthful, true, lies + (lies >= true))
    return np.bincount(position * form.base + told, minlength=form.tally_size)


def _sums(form: PrefixHash, point: Ints, code: Ints) -> Ints:
    sizes = form.base ** np.arange(form.digits, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.searchsorted(starts, point, side="right") - 1
    vector = sizes[place] + point - starts[place]
    total = np.zeros(len(point), dtype=np.int64)
    for size in sizes:
        total += (vector // size % form.base) * (code // size % form.base)
    return total % form.base
