"""Heavy hitters: texts nobody listed, found by extending prefixes and told by reports held out.

Group s of the search knows prefixes of s·step bytes. Starting from the empty one, each kept prefix
is extended by every string UTF-8 allows, the reports of the next group say how often each occurs,
and the `BEAM` likeliest go on, where a letter is likelier than a sign after a letter; those that
end there are texts, kept apart. At the end all groups that spell a text to its end speak for it
together, and the best supported are put to reports that no step of this has looked at: group 0.
How many they are is up to the search alone.

A finalist is found when its interval there, simultaneous for all finalists, excludes 0. Whatever
the search did, the chance that anything is found which nobody has is at most (1 − confidence)/2,
and that any interval shown misses is at most 1 − confidence: there is no winner's curse.

Sources: Wang, Li, Jha 2018 (PEM); local-dp §12. Unlike there the beam is not the last word, and
short texts are supported by every longer group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable_aggregator.estimate.channel import Counts, Floats
from deniable_aggregator.estimate.spelling import (
    Bytes,
    Midway,
    Run,
    continuations,
    log_chances,
    midway,
    run_of,
)
from deniable_aggregator.estimate.texts import Evidence, Texts, tell
from deniable_aggregator.estimators.prefix_hash import PrefixHashEstimator
from deniable_shared.domain import is_text
from deniable_shared.mechanisms.prefix_hash import PrefixHash, entry

__all__ = ["BEAM", "FINALISTS", "found", "search"]

BEAM = 256
"""Prefixes that are extended, and texts that are kept, at each step."""

FINALISTS = 256
"""Texts that are put to the reports held out, at most."""

_WORTH_A_TEST = 2.5
"""Standard errors above 0 by the reports of the search: every finalist widens all the intervals."""

_LOOKED_FOR = 3.0  # standard errors: the least frequency that is worth a place in the beam
_LEAST_ODDS = -12.0  # below e^-12 a candidate is not kept even where there is room


def found(
    estimator: PrefixHashEstimator,
    tally: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
) -> Texts:
    """The texts that are certainly there, the most frequent first, with simultaneous intervals.

    ParameterError for a tally that n reports cannot give. None are found where step = 0.
    """
    counts, _ = estimator.checked(tally, n)
    evidence = Evidence(estimator, counts)
    told = tell(
        evidence,
        search(evidence),
        held_out=True,
        confidence=confidence,
        epochs=epochs,
        family="all",
    )
    return told.those(told.estimate.lower > 0)


def search(evidence: Evidence) -> list[bytes]:
    """The texts most likely to be frequent, by all groups but the one that is held out."""
    form = evidence.form
    beam, pool = _Best([b""], np.full(1, math.inf)), dict[bytes, None]()
    for group in range(1, form.groups):
        level, longer, texts = _Level(evidence, group), _Best(), _Best()
        for prefix, odds in zip(beam.texts, beam.odds.tolist(), strict=True):
            level.extend(prefix, -math.log1p(math.exp(-odds)), longer, texts)
        beam = longer
        pool |= dict.fromkeys(filter(is_text, texts.texts))
    pool |= dict.fromkeys(filter(is_text, beam.texts))  # as long as a text may be
    texts_found = list(pool)
    counts, trials = evidence.of(texts_found, held_out=False)
    q = float(form.q)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.nan_to_num((counts - q * trials) / np.sqrt(q * (1 - q) * trials))
    order = np.argsort(-score, kind="stable")[:FINALISTS]
    return [texts_found[place] for place in order if score[place] > _WORTH_A_TEST]


@dataclass(slots=True)
class _Best:
    """Prefixes or texts and their log-odds: of all that it was given, the likeliest."""

    texts: list[bytes] = field(default_factory=list)
    odds: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, prefix: bytes, tails: Bytes, odds: Floats) -> None:
        floor = self.odds[-1] if len(self.odds) == BEAM else _LEAST_ODDS
        places = np.flatnonzero(odds > floor)
        if not len(places):
            return
        texts = [*self.texts, *(prefix + tails[place].tobytes() for place in places)]
        every = np.concatenate([self.odds, odds[places]])
        order = np.argsort(-every, kind="stable")[:BEAM]
        self.odds, self.texts = every[order], [texts[place] for place in order]


@dataclass(frozen=True)
class _Level:
    """One step of the search: the reports of one group."""

    evidence: Evidence
    group: int

    @property
    def _form(self) -> PrefixHash:
        return self.evidence.form

    @cached_property
    def _start(self) -> int:
        """Bytes that a prefix already has."""
        return self._form.length(self.group - 1) if self.group > 1 else 0

    @cached_property
    def _twice(self) -> Counts:
        """(R, 2K): the supports of all codes, twice over, so that no sum of two has to wrap."""
        supports = self.evidence.group(self.group).supports
        return np.concatenate([supports, supports], axis=1)

    @cached_property
    def _tails(self) -> dict[tuple[Midway, int], tuple[Bytes, npt.NDArray[np.int64]]]:
        return {}

    @cached_property
    def _chances(self) -> dict[tuple[Midway, Run, int], Floats]:
        return {}

    def extend(self, prefix: bytes, sure: float, longer: _Best, texts: _Best) -> None:
        """Log-odds of all that may follow a prefix: what goes on, and what ends before it is full.

        A prefix as long as texts may be goes on nowhere, and is a text if it ends a character.
        """
        size = self._form.length(self.group) - self._start
        codes = [self._form.code(r, prefix) for r in self._form.tables_of(self.group)]
        state, run = midway(prefix), run_of(prefix)
        for length in range(size + 1):
            if length == 0 and (state.lacking or not prefix):
                continue
            tails, steps = self._ending(state, length, whole=length < size)
            counts = np.zeros(len(tails), dtype=np.int64)
            for row, code, step in zip(self._twice, codes, steps, strict=True):
                counts += row[code:][step]
            odds = sure + self._spelled(state, run, length) + self._likelihood(counts)
            (longer if length == size else texts).add(prefix, tails, odds)

    def _spelled(self, state: Midway, run: Run, length: int) -> Floats:
        """The log-chances of the strings that may follow, before any report is looked at."""
        key = (state, run, length)
        if key not in self._chances:
            size = self._form.length(self.group) - self._start
            tails, _ = self._ending(state, length, whole=length < size)
            self._chances[key] = log_chances(run, tails)
        return self._chances[key]

    def _likelihood(self, counts: Counts) -> Floats:
        """Log-likelihood of the best frequency from _LOOKED_FOR on, over that of none."""
        n, q = self.evidence.group(self.group).n, float(self._form.q)
        z = (counts - n * q) / math.sqrt(max(1, n) * q * (1 - q))
        return np.where(z > _LOOKED_FOR, z * z / 2, _LOOKED_FOR * z - _LOOKED_FOR**2 / 2)

    def _ending(
        self, state: Midway, length: int, *, whole: bool
    ) -> tuple[Bytes, npt.NDArray[np.int64]]:
        """The strings that may follow, and what they add to the code in each table: (R, N)."""
        key = (state, length)
        if key not in self._tails:
            tails = continuations(state, length, whole=whole)
            steps = np.zeros((self._form.tables, len(tails)), dtype=np.int64)
            for place in range(length):
                steps += self._entries[:, place][:, tails[:, place]]
            self._tails[key] = tails, steps % self._form.codes
        return self._tails[key]

    @cached_property
    def _entries(self) -> npt.NDArray[np.int64]:
        """(R, step, 256): what each byte adds at each place after the prefix."""
        form = self._form
        return np.array(
            [
                [
                    [entry(r, place, byte) % form.codes for byte in range(256)]
                    for place in range(self._start, form.length(self.group))
                ]
                for r in form.tables_of(self.group)
            ],
            dtype=np.int64,
        )
