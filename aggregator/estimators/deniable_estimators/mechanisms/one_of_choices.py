"""One of several choices: the reports about each choice, and what they support.

Tally: the P numbers of reports, then for each choice the supports of its codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_estimators.inference.payload_arrays import Payloads, checked_payloads, checked_tally
from deniable_estimators.inference.sampling import Generator, sample_sets
from deniable_estimators.mechanisms.subset import SubsetEstimator
from deniable_shared.domains import bytes_for
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.one_of_choices import OneOfChoices
    from deniable_shared.mechanisms.protocols import Mechanism


class _Counted(Protocol):
    """What `OneOfChoicesTally` needs."""

    @property
    def mechanism(self) -> Mechanism: ...

    @property
    def _first_round(self) -> OneOfChoices: ...


class OneOfChoicesTally:
    """Tallies of such a mechanism, or of its memoized chain."""

    __slots__ = ()

    def tally(self: _Counted, payloads: Payloads) -> Counts:
        """Count payloads. Raises DecodeError for one that no sender can make."""
        form = self._first_round
        rows = checked_payloads(payloads, form.payload_size)
        many = len(form.choices)
        head = bytes_for(many)
        places = np.zeros(len(rows), dtype=np.int64)
        for column in rows[:, :head].T:
            places = places << 8 | column
        if places.size and places.max() >= many:
            raise DecodeError(f"payloads must name {form.part_name}s below {many}")
        reports = np.bincount(places, minlength=many)
        grouped = rows[np.argsort(places, kind="stable"), head:]
        ends = np.cumsum(reports)
        parts = [
            SubsetEstimator(choice).tally(grouped[end - n : end, : choice.payload_size])  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
            for choice, n, end in zip(form.choices, reports.tolist(), ends.tolist(), strict=True)
        ]
        return np.concatenate([reports, *parts])

    def sample_tally(self: _Counted, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw each person's choice, then its set."""
        form, mechanism = self._first_round, self.mechanism
        kept = float(mechanism.keep_probability) if isinstance(mechanism, MemoizedChain) else 1.0
        choices = len(form.choices)
        senders_of_choice = draws.multinomial(people, np.full(choices, 1 / choices))
        parts = [np.asarray(senders_of_choice.sum(axis=0), dtype=np.int64)]
        for place, choice in enumerate(form.choices):
            codes = np.array([form.code(value, place) for value in values.tolist()], dtype=np.int64)
            p = kept * float(choice.p) + (1 - kept) * choice.subset_size / choice.domain_size
            parts.append(
                sample_sets(choice.structure, p, codes, senders_of_choice[:, place], draws)
            )
        return np.concatenate(parts)

    def checked(self: _Counted, tally: Counts, n: int) -> tuple[Counts, int]:
        """Return the tally and n. Raises ParameterError for a tally that n reports cannot give."""
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        supports_of(counts, reports, self._first_round)
        return counts, reports


def supports_of(tally: Counts, n: int, form: OneOfChoices) -> tuple[Counts, list[Counts]]:
    """Return the number of reports about each choice, and their supports.

    Raises ParameterError if n reports cannot give the tally.
    """
    reports_of_choice = tally[: len(form.choices)]
    if reports_of_choice.sum() != n:
        raise ParameterError(f"tally must have one {form.part_name} in each of n = {n} reports")
    ends = len(reports_of_choice) + np.cumsum([choice.domain_size for choice in form.choices])
    parts = np.split(tally[len(reports_of_choice) :], ends[:-1] - len(reports_of_choice))
    for choice, reports, part in zip(form.choices, reports_of_choice.tolist(), parts, strict=True):
        if choice.subset_size * reports != part.sum():
            raise ParameterError(
                f"tally must hold {choice.subset_size} codes for each of {reports} reports"
            )
    return reports_of_choice, parts
