"""Anomalies: patterns that honest reports cannot have for any answers; signs of fake reports.

    codes without a label    no device has them: each count is Bin(n, q), and their sum has the law
                             of a set with F = 0
    unary encodings          Σ_v c_v has the law of the set of all labels, F = 1: a coin of p and
                             d − 1 coins of q in each report

The first test is exact, divided by twice the number of codes (Bonferroni). The others are bounded
by Bernstein. Honest reports trigger any of them in at most one of a million estimates. No test
proves that reports are honest: fake reports that follow these laws are not detected. There is no
test if the law is an identity (`grr/1`, `subset/1`), or if every report may be honest (`rr/1`).
Source: docs/mathematics/intervals.md, What honest reports cannot look like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.designs import unary
from deniable_estimators.inference.payload_arrays import clusters_of
from deniable_estimators.inference.protocols import CodeEstimator, Estimator
from deniable_estimators.inference.set_laws import permanent_law_of, set_law_of
from deniable_estimators.inference.sets import tail_of_known
from deniable_estimators.inference.significance import SupportEvidence, tails_under_null

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.mechanisms.protocols import Mechanism

FALSE_ALARMS = 1e-6
"""The largest share of honest estimates with an anomaly."""

AnomalyKind = Literal["unused-code", "unused-codes", "weight"]


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly: in a code without a label, in all such codes, or in all ones."""

    kind: AnomalyKind
    seen: int
    expected: float
    chance: float
    code: int | None = None


@dataclass(frozen=True, slots=True)
class _Sum:
    """The supports of `members` in n reports; a known `share` of people has a member.

    most: the chance below which such a sum is an anomaly.
    """

    kind: AnomalyKind
    members: Counts
    total: int
    n: int
    share: int
    most: float


def find_anomalies(
    estimator: Estimator, mechanism: Mechanism, tally: Counts, n: int, *, epochs: int = 1
) -> tuple[Anomaly, ...]:
    """Return all anomalies; honest reports show one in at most FALSE_ALARMS of the estimates."""
    if not n:
        return ()
    if unary(mechanism):
        return tuple(_of_weight(estimator, mechanism, tally, n, epochs))
    if isinstance(estimator, CodeEstimator):
        codes = estimator.code_supports(tally)
        return tuple(_of_codes(estimator, mechanism, codes, n, epochs))
    return ()


def _of_weight(
    estimator: Estimator, mechanism: Mechanism, tally: Counts, n: int, epochs: int
) -> Iterator[Anomaly]:
    everything = np.arange(mechanism.domain_size)
    ones = int(estimator.supports(tally).sum())
    seen = _Sum("weight", everything, ones, n, share=1, most=FALSE_ALARMS)
    yield from _of_sum(estimator, seen, epochs)


def _of_codes(
    estimator: Estimator, mechanism: Mechanism, codes: Counts, n: int, epochs: int
) -> Iterator[Anomaly]:
    unused = np.arange(mechanism.domain_size, len(codes))
    if not len(unused):
        return
    counts = codes[unused]
    clusters = clusters_of(mechanism, estimator.repeat, epochs)
    evidence = SupportEvidence(counts, np.full(len(unused), n), clusters)
    chances = np.minimum(*tails_under_null(Channel(mechanism.p, mechanism.q), evidence))
    chances = np.minimum(2 * len(unused) * chances, 1.0)
    worst = int(chances.argmin())
    if chances[worst] <= FALSE_ALARMS / 2:
        expected, code = float(n * mechanism.q), int(unused[worst])
        yield Anomaly("unused-code", int(counts[worst]), expected, float(chances[worst]), code)
    total = int(counts.sum())
    seen = _Sum("unused-codes", unused, total, n, share=0, most=FALSE_ALARMS / 2)
    yield from _of_sum(estimator, seen, epochs)


def _of_sum(estimator: Estimator, seen: _Sum, epochs: int) -> Iterator[Anomaly]:
    members, n, share = seen.members, seen.n, seen.share
    law, kept = set_law_of(estimator, members), permanent_law_of(estimator, members)
    chance = tail_of_known(law, seen.total, n, share, span=epochs, kept=kept)
    if chance <= seen.most:
        yield Anomaly(seen.kind, seen.total, float(n * law.mean(share)), chance)
