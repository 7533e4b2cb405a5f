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
"""Prefixes that are extended, and texts that are kept, at each step."""

FINALISTS = 256
"""Texts that are put to the reports held out, at most."""

_WORTH_A_TEST = 2.5
"""Standard errors above 0 by the reports of the search: every finalist widens all the intervals."""

_LEAST_ODDS = -12.0  # below e^-12 a candidate is not kept even where there is room


def find_heavy_hitters(
    estimator: TextEstimator,
    tally: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
) -> TextEstimates:
    """The texts that are certainly there, the most frequent first, with simultaneous intervals.

    ParameterError for a tally that n reports cannot give. None are found where step = 0.
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
    """The texts most likely to be frequent, by all groups but the one that is held out."""
    coding = text_tally.coding
    beam, pool = _Likeliest([b""], np.full(1, math.inf)), dict[bytes, None]()
    for group in range(1, coding.groups):
        longer, texts = _Likeliest(), _Likeliest()
        for family in PrefixExtension(text_tally, group).candidates(beam.texts, beam.odds):
            (longer if family.full else texts).add(family.prefix, family.tails, family.odds)
        beam = longer
        pool |= dict.fromkeys(filter(is_text, texts.texts))
    pool |= dict.fromkeys(filter(is_text, beam.texts))  # as long as a text may be
    texts_found = list(pool)
    counts, trials = text_tally.of(texts_found, held_out=False)
    q = float(text_tally.estimator.mechanism.q)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.nan_to_num((counts - q * trials) / np.sqrt(q * (1 - q) * trials))
    order = np.argsort(-score, kind="stable")[:FINALISTS]
    return [texts_found[place] for place in order if score[place] > _WORTH_A_TEST]


@dataclass(slots=True)
class _Likeliest:
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
