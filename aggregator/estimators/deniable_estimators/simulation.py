"""Tallies of whole populations in seconds: for planning and for tests, never for privacy.

Draws come from numpy's generator, which can be predicted from its output, and probabilities are
floats. Devices use `Mechanism.randomize`, with a keyed stream and integers; nothing here is ever
sent. Only the law of the tally is the same. It covers every registered mechanism, and one report of
a chain, because all of them are one of these:

    bits           each bit independently: binomial counts of ones        `IndependentBits`
    one label      kept with p − q, else any label                        `OneOf`
    a set each     drawn sender by sender                                 `Subset`
    the estimator  has its own algorithm                                  `TallySampler`
    a message      supports the true label with p, uniformly, else uniform among the others:
                   multinomial over the messages      tallies of labels that count messages
    a few          drawn from the exact `pmf` of each value               all others

A new mechanism needs code here only to be fast.
Source: docs/mathematics/supports-and-estimates.md, Drawing a tally; a uniform set by Floyd's way,
as in `subset/1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Counts, Floats
from deniable_estimators.inference.sampling import (
    Generator,
    TallySampler,
    TextTallySampler,
    people_by_value,
    sample_sets,
)
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.protocols import Mechanism, Memoizable
from deniable_shared.mechanisms.structure import IndependentBits, OneOf, Subset

Kernel = Callable[[Mechanism, Counts, Counts, Generator], Counts]


def generator(seed: int | None = None) -> Generator:
    """Return the generator of simulations: from the system's entropy, or repeatable with a seed."""
    return np.random.default_rng(seed)  # noqa: TID251  (planning and tests: nothing is sent)


def simulated_tally(
    mechanism: Mechanism,
    values: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    draws: Generator | None = None,
) -> Counts:
    """The tally, int64[tally_size], of people[i] devices with answer values[i], one report each.

    `values` are indices, or rows of zeros and ones for a mechanism of bits. Raises ParameterError
    if they do not fit the mechanism, or if its law cannot be drawn from at this size.
    """
    answers, counts = _checked(mechanism, np.asarray(values), np.asarray(people))
    chosen, estimator = draws or generator(), estimator_for(mechanism)
    if isinstance(estimator, TallySampler):
        return estimator.sample_tally(answers, counts, chosen)
    return _KERNELS.get(type(mechanism.structure), _by_law)(mechanism, answers, counts, chosen)


def simulated_texts(
    mechanism: Mechanism,
    texts: Sequence[bytes],
    people: npt.ArrayLike,
    *,
    draws: Generator | None = None,
) -> Counts:
    """Return the tally of people[i] devices with texts[i], one report each.

    Raises ParameterError for a mechanism without a search for texts, and for texts that it cannot
    encode.
    """
    estimator, longest = estimator_for(mechanism), mechanism.domain_size
    if not isinstance(estimator, TextTallySampler):
        raise ParameterError(f"mechanism must be prefix-hash/1, got {mechanism.id}")
    if not all(1 <= len(text) <= longest for text in texts):
        raise ParameterError(f"texts must have 1 to {longest} bytes each")
    counts = np.asarray(people)
    if counts.shape != (len(texts),) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ParameterError(f"people must be {len(texts)} integers of at least 0")
    return estimator.sample_texts(texts, counts, draws or generator())


def _checked(mechanism: Mechanism, values: Counts, people: Counts) -> tuple[Counts, Counts]:
    if mechanism.domain_types == {"text"}:
        raise ParameterError(f"values of {mechanism.id} are texts: use simulated_texts")
    width = 2 if mechanism.domain_types == {"bits"} else 1
    if values.ndim != width or people.shape != values.shape[:1]:
        raise ParameterError(
            f"values must be {'rows of bits' if width == 2 else 'indices'} and people one number "
            f"for each, got shapes {values.shape} and {people.shape}"
        )
    if values.dtype.kind not in "iub" or people.dtype.kind not in "iu":
        raise ParameterError("values and people must be integers")
    largest = 1 if width == 2 else mechanism.domain_size - 1
    if values.size and not 0 <= values.min() <= values.max() <= largest:
        raise ParameterError(f"values must lie in [0, {largest}]")
    if width == 2 and values.shape[1] != mechanism.domain_size:
        raise ParameterError(f"values must have {mechanism.domain_size} bits a row")
    if people.size and people.min() < 0:
        raise ParameterError("people must be at least 0 for each value")
    some = people > 0
    return values[some].astype(np.int64), people[some].astype(np.int64)


def _form(mechanism: Mechanism) -> Memoizable:
    """Return the mechanism whose payload a report has."""
    return (
        mechanism.first if isinstance(mechanism, MemoizedChain) else cast("Memoizable", mechanism)
    )


def _bits(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """Draw each bit independently: how many people with a one report it, and how many without."""
    d, n = mechanism.domain_size, people.sum()
    ones = values.T @ people if values.ndim == 2 else people_by_value(values, people, d)
    true = draws.binomial(ones, float(mechanism.p))
    return np.asarray(true + draws.binomial(n - ones, float(mechanism.q)))


def _one_label(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """Draw for grr/1: kept with p − q, else any label, including the true one."""
    d = mechanism.domain_size
    kept = draws.binomial(people, float(mechanism.p - mechanism.q))
    others = draws.multinomial(int(people.sum() - kept.sum()), np.full(d, 1 / d))
    return np.asarray(people_by_value(values, kept, d) + others)


def _by_law(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """Draw from p over the messages of a value if the tally counts messages, else from its pmf."""
    form = _form(mechanism)
    counted = form.coordinates == 1 and form.tally_size == form.alphabet_size
    law = _message_law if counted and "choice" in form.domain_types else _pmf_law
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    for value, count in zip(values.tolist(), people.tolist(), strict=True):
        chances, tallies = law(mechanism, value)
        drawn = draws.multinomial(count, chances / chances.sum())
        tally += drawn if tallies is None else drawn @ tallies
    return tally


def _message_law(mechanism: Mechanism, value: int) -> tuple[Floats, None]:
    """Return the chance of each message, which is its own place in the tally."""
    form = _form(mechanism)
    size = mechanism.payload_size
    favoured = np.array(
        [form.supports(each.to_bytes(size, "big"), value) for each in range(form.alphabet_size)]
    )
    inside, outside = float(mechanism.p), float(1 - mechanism.p)
    few = form.support_size
    return np.where(favoured, inside / few, outside / (form.alphabet_size - few)), None


def _pmf_law(mechanism: Mechanism, value: int | list[int]) -> tuple[Floats, Counts]:
    """Return the chance of each payload, and what it adds to the tally."""
    law = mechanism.pmf(value)
    rows = np.frombuffer(b"".join(law), dtype=np.uint8).reshape(len(law), 1, -1)
    estimator = estimator_for(mechanism)
    tallies = np.array([estimator.tally(row) for row in rows])
    return np.array([float(chance) for chance in law.values()]), tallies


def _sets(mechanism: Mechanism, values: Counts, people: Counts, draws: Generator) -> Counts:
    """Draw a set for each person."""
    structure = mechanism.structure
    if not isinstance(structure, Subset):
        raise ParameterError(f"messages of {mechanism.id} must be sets of any codes")
    return sample_sets(structure, float(mechanism.p), values, people, draws)


_KERNELS: Mapping[type, Kernel] = MappingProxyType(
    {IndependentBits: _bits, OneOf: _one_label, Subset: _sets}
)
