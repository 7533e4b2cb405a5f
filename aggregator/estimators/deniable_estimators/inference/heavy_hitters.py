"""Heavy hitters: detects frequent unknown texts by extending prefixes, and measures them apart.

Group s of the search has reports on prefixes of s·step bytes. Starting from the empty one, each
kept prefix is extended by every string that UTF-8 allows. The reports of the next group estimate
how often each occurs, and the `BEAM` most likely continue; after a letter, a letter is more likely
than a sign. Texts that end there are kept separately. At the end, each text is scored by all groups
that contain it whole. The best are tested on held-out reports that no step of the search has used:
group 0. Only the search decides how many these finalists are.

A finalist is reported if its interval there, simultaneous for all finalists, excludes 0. For every
search, the chance that a text is reported that no person has is at most (1 − confidence)/2. The
chance that any reported interval misses is at most 1 − confidence: there is no winner's curse.

Sources: Wang, Li, Jha 2018 (PEM); docs/mathematics/texts.md, Texts that no list contains. Unlike
there, the beam does not decide the result, and every longer group supports short texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.prefix_extension import PrefixExtension
from deniable_estimators.inference.texts import TextEstimates, TextTally, estimate_texts
from deniable_shared.domains import is_text

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.protocols import TextEstimator
    from deniable_estimators.inference.utf8_candidates import Bytes

BEAM = 256
"""The number of prefixes extended, and of texts kept, at each step."""

FINALISTS = 256
"""The most texts that are tested on the held-out reports."""

_WORTH_A_TEST = 2.5
"""Standard errors above 0 in the search that make a finalist: each one widens all intervals."""

_LEAST_ODDS = -12.0  # below e^-12 a candidate is dropped even if there is room


def find_heavy_hitters(
    estimator: TextEstimator,
    tally: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
) -> TextEstimates:
    """Return the texts that certainly occur, most frequent first, with simultaneous intervals.

    Raises ParameterError for a tally that n reports cannot give. There are none if step = 0.
    """
    counts, _ = estimator.checked(tally, n)
    text_tally = TextTally(estimator, counts)
    estimates = estimate_texts(
        text_tally,
        search(text_tally),
        held_out=True,
        confidence=confidence,
        epochs=epochs,
        family="all",
    )
    return estimates.select(estimates.estimate.lower > 0)


def search(text_tally: TextTally) -> list[bytes]:
    """Return the texts most likely to be frequent, by all groups but the held-out one."""
    coding = text_tally.coding
    beam, pool = _Likeliest([b""], np.full(1, math.inf)), dict[bytes, None]()
    for group in range(1, coding.groups):
        longer, texts = _Likeliest(), _Likeliest()
        for family in PrefixExtension(text_tally, group).candidates(beam.texts, beam.odds):
            (longer if family.full else texts).add(family.prefix, family.tails, family.odds)
        beam = longer
        pool |= dict.fromkeys(filter(is_text, texts.texts))
    pool |= dict.fromkeys(filter(is_text, beam.texts))  # texts of the greatest length
    texts_found = list(pool)
    counts, trials = text_tally.of(texts_found, held_out=False)
    q = float(text_tally.estimator.mechanism.q)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.nan_to_num((counts - q * trials) / np.sqrt(q * (1 - q) * trials))
    order = np.argsort(-score, kind="stable")[:FINALISTS]
    return [texts_found[place] for place in order if score[place] > _WORTH_A_TEST]


@dataclass(slots=True)
class _Likeliest:
    """The most likely of all prefixes or texts that it was given, with their log-odds."""

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
