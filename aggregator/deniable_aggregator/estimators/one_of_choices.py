"""One of several choices: of each the reports that told of it, and what they support.

Tally: the P numbers of reports, then for each choice the supports of its codes.
"""

from __future__ import annotations

import numpy as np

from deniable_aggregator.estimate.channel import Counts
from deniable_aggregator.estimate.payload_arrays import Payloads, checked_payloads
from deniable_aggregator.estimate.sampling import Generator, sample_sets
from deniable_aggregator.estimators.subset import SubsetEstimator
from deniable_shared.domain import bytes_for
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.one_of_choices import OneOfChoices
from deniable_shared.mechanisms.protocols import Mechanism


def tally_of(payloads: Payloads, form: OneOfChoices) -> Counts:
    """The tally of these payloads; DecodeError for one that no sender can make."""
    rows = checked_payloads(payloads, form.payload_size)
    many = len(form.choices)
    head = bytes_for(many)
    places = np.zeros(len(rows), dtype=np.int64)
    for column in rows[:, :head].T:
        places = places << 8 | column
    if places.size and places.max() >= many:
        raise DecodeError(f"payloads must name {form.thing}s below {many}")
    told = np.bincount(places, minlength=many)
    grouped = rows[np.argsort(places, kind="stable"), head:]
    ends = np.cumsum(told)
    parts = [
        SubsetEstimator(choice).tally(grouped[end - n : end, : choice.payload_size])
        for choice, n, end in zip(form.choices, told.tolist(), ends.tolist(), strict=True)
    ]
    return np.concatenate([told, *parts])


def supports_of(tally: Counts, n: int, form: OneOfChoices) -> tuple[Counts, list[Counts]]:
    """How many reports told of each choice, and their supports; ParameterError if impossible."""
    told = tally[: len(form.choices)]
    if told.sum() != n:
        raise ParameterError(f"tally must tell of one {form.thing} in each of n = {n} reports")
    ends = len(told) + np.cumsum([choice.domain_size for choice in form.choices])
    parts = np.split(tally[len(told) :], ends[:-1] - len(told))
    for choice, reports, part in zip(form.choices, told.tolist(), parts, strict=True):
        if choice.subset_size * reports != part.sum():
            raise ParameterError(
                f"tally must hold {choice.subset_size} codes for each of {reports} reports"
            )
    return told, parts


def sample_tally_of(
    mechanism: Mechanism, form: OneOfChoices, values: Counts, people: Counts, draws: Generator
) -> Counts:
    """Each choice is told by those who tossed it."""
    kept = float(mechanism.keep_probability) if isinstance(mechanism, MemoizedChain) else 1.0
    choices = len(form.choices)
    told = draws.multinomial(people, np.full(choices, 1 / choices))
    parts = [np.asarray(told.sum(axis=0), dtype=np.int64)]
    for place, choice in enumerate(form.choices):
        codes = np.array([form.code(value, place) for value in values.tolist()], dtype=np.int64)
        p = kept * float(choice.p) + (1 - kept) * choice.subset_size / choice.domain_size
        parts.append(sample_sets(choice.structure, p, codes, told[:, place], draws))
    return np.concatenate(parts)
