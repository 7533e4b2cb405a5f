"""One step of the search for texts: what may follow each prefix, and the odds that it occurs.

A candidate's support is summed over the tables of the group. If its code equals that of a frequent
prefix in one table, that prefix's people are counted for it as well. This affects hundreds of tens
of thousands of candidates, each by more than the noise. So outliers are read first, most frequent
first, and the people of each are subtracted from the counts before the next one is read (matching
pursuit). Then every candidate is read again, with only its own people.

    z = (c − nq)/√(nq(1 − q))       log-odds = log-chance of the spelling + log-likelihood of z

Source: docs/mathematics/texts.md, Texts that no list contains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.protocols import PrefixCoding, TableGroup
from deniable_estimators.inference.utf8_candidates import (
    Bytes,
    PartialCharacter,
    class_of,
    continuations,
    log_probabilities,
    partial_character,
)
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.texts import TextTally

_LOOKED_FOR = 3.0  # standard errors: the least frequency that deserves a place in the beam
_STANDS_OUT = 4.5  # standard errors: subtracting a smaller outlier would add noise
_MOST_TAKEN_OUT = 1_000
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """All candidates of one prefix and one length: the appended strings and their log-odds."""

    prefix: bytes
    tails: Bytes
    odds: Floats
    full: bool


@dataclass(frozen=True, slots=True)
class _CandidateCodes:
    """Candidates without supports yet: `steps`, int64[R, N], lead from the prefix's codes."""

    prefix: bytes
    tails: Bytes
    steps: Ints
    codes: Ints
    prior: Floats
    full: bool

    def codes_of(self, place: int, codes: int) -> Ints:
        """Return int64[R]: the code of one candidate in each table."""
        return np.asarray((self.codes + self.steps[:, place]) % codes)


@dataclass(frozen=True)
class PrefixExtension:
    """The reports of one group of the search."""

    tally: TextTally
    group: int

    def candidates(self, prefixes: Sequence[bytes], odds: Floats) -> Iterator[CandidateSet]:
        """Yield the log-odds of all that may follow the prefixes: longer prefixes and texts.

        A prefix of the greatest length has no continuation; it is a text if it ends a character.
        """
        families = [
            family
            for prefix, odd in zip(prefixes, odds.tolist(), strict=True)
            for family in self._candidate_codes(prefix, -math.log1p(math.exp(-odd)))
        ]
        counts = self._without_neighbours(
            families, self._counts(families, self._reports.supports.astype(float))
        )
        ends = accumulate(len(family.tails) for family in families)
        for family, end in zip(families, ends, strict=True):
            odds_now = family.prior + self._likelihood(counts[end - len(family.tails) : end])
            yield CandidateSet(family.prefix, family.tails, odds_now, family.full)

    @cached_property
    def _coding(self) -> PrefixCoding:
        coding = self.tally.coding
        if not isinstance(coding, PrefixCoding):
            raise ParameterError("mechanism must be prefix-hash/1: others have no search")
        return coding

    @property
    def _reports(self) -> TableGroup:
        return self.tally.group(self.group)

    @cached_property
    def _start(self) -> int:
        """The length of the prefixes in bytes."""
        return self._coding.length(self.group - 1) if self.group > 1 else 0

    @cached_property
    def _tails(self) -> dict[tuple[PartialCharacter, int], tuple[Bytes, Ints]]:
        return {}

    def _candidate_codes(self, prefix: bytes, sure: float) -> Iterator[_CandidateCodes]:
        size = self._coding.length(self.group) - self._start
        tables = self._coding.tables_of(self.group)
        codes = np.array([self._coding.code(r, prefix) for r in tables], dtype=np.int64)
        state, run = partial_character(prefix), class_of(prefix)
        for length in range(size + 1):
            if length == 0 and (state.lacking or not prefix):
                continue
            tails, steps = self._ending(state, length, whole=length < size)
            prior = sure + log_probabilities(run, tails)
            yield _CandidateCodes(prefix, tails, steps, codes, prior, full=length == size)

    def _counts(self, families: Sequence[_CandidateCodes], supports: Floats) -> Floats:
        """Return the supports of all candidates, prefix after prefix."""
        twice = np.concatenate([supports, supports], axis=1)  # a sum of two codes needs no modulo
        firsts = np.arange(len(twice))[:, None] * twice.shape[1]
        counts = [
            twice.ravel().take(firsts + family.codes[:, None] + family.steps).sum(axis=0)
            for family in families
        ]
        return np.concatenate([np.zeros(0), *counts])

    def _without_neighbours(self, families: Sequence[_CandidateCodes], counts: Floats) -> Floats:
        """Return each candidate's supports without the people of outliers that share its codes."""
        reports, coding = self._reports, self._coding
        gap = float(self.tally.estimator.mechanism.p - self.tally.estimator.mechanism.q)
        starts = np.cumsum([0, *(len(family.tails) for family in families)])
        left, own = reports.supports.astype(float), np.zeros(len(counts))
        rows = np.arange(len(left))
        outstanding = np.flatnonzero(self._z(counts) > _STANDS_OUT)
        order = outstanding[np.argsort(-counts[outstanding], kind="stable")][:_MOST_TAKEN_OUT]
        for place in order.tolist():
            which = int(np.searchsorted(starts, place, side="right")) - 1
            codes = families[which].codes_of(place - int(starts[which]), coding.codes)
            count = left[rows, codes].sum()
            if self._z(count) > _STANDS_OUT:
                people = (count / reports.n - float(coding.q)) / gap
                left[rows, codes] -= people * reports.trials * gap
                own[place] = people * reports.n * gap
        return self._counts(families, left) + own if own.any() else counts

    def _z(self, counts: Floats) -> Floats:
        n, q = self._reports.n, float(self._coding.q)
        return np.asarray((counts - n * q) / math.sqrt(max(1, n) * q * (1 - q)))

    def _likelihood(self, counts: Floats) -> Floats:
        """Return the log-likelihood ratio of the best frequency from _LOOKED_FOR on, against 0."""
        z = self._z(counts)
        return np.where(z > _LOOKED_FOR, z * z / 2, _LOOKED_FOR * z - _LOOKED_FOR**2 / 2)

    def _ending(self, state: PartialCharacter, length: int, *, whole: bool) -> tuple[Bytes, Ints]:
        """The strings that may follow, and what they add to the code of each table: int64[R, N]."""
        key = (state, length)
        if key not in self._tails:
            tails = continuations(state, length, whole=whole)
            steps = np.zeros((self._coding.tables, len(tails)), dtype=np.int64)
            for place in range(length):
                steps += self._entries[:, place][:, tails[:, place]]
            self._tails[key] = tails, steps % self._coding.codes
        return self._tails[key]

    @cached_property
    def _entries(self) -> Ints:
        """int64[R, step, 256]: what each byte adds at each place after the prefix."""
        coding = self._coding
        return np.array(
            [
                [
                    [coding.entry(r, place, byte) % coding.codes for byte in range(256)]
                    for place in range(self._start, coding.length(self.group))
                ]
                for r in coding.tables_of(self.group)
            ],
            dtype=np.int64,
        )
