"""Which labels occur: tests the hypothesis that no person has a label, for each and together.

If no person has a label, each of the n reports about it supports it with probability q, so

    P[Bin(n, q) ≥ c]        is exact, for every n and for all answers

Reports of one device in several epochs are independent under that hypothesis if each is a new draw.
A permanent answer is 1 with chance Q for the device and all its reports; then the tail is that of
`Clusters`. If m labels are tested together at level α, then with probability 1 − α no label that
does not occur is called significant:

    bonferroni   p_v ≤ α/m
    holm         the k-th smallest p ≤ α/(m + 1 − k), and all smaller ones were: never fewer

under any dependence of the labels.
Sources: Clopper and Pearson 1934; Holm 1979; docs/mathematics/intervals.md, Which labels occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_estimators.inference.channel import Channel, Counts, Floats
    from deniable_estimators.inference.clusters import Clusters

METHODS = ("holm", "bonferroni")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SupportEvidence:
    """The input of a test: supports, reports about each label, and clusters if any."""

    counts: Counts
    trials: Counts
    clusters: Clusters | None = None


def tails_under_null(channel: Channel, evidence: SupportEvidence) -> tuple[Floats, Floats]:
    """Return for each label without owners the chance of at least, and at most, so many supports.

    The chance is 1 if no report is about the label.
    """
    counts, trials, clusters = evidence.counts, evidence.trials, evidence.clusters
    if clusters is not None and clusters.low < channel.q:
        return clusters.tails(counts, trials, channel.q)
    q = float(channel.q)
    return _binomial_tail(counts, trials, q), _binomial_tail(trials - counts, trials, 1.0 - q)


def rejected_hypotheses(p_values: Floats, level: float, method: str) -> Flags:
    """Return which hypotheses are rejected; a share `level` of families may lose a true one.

    Raises ParameterError for a method that is not one of METHODS.
    """
    if method not in METHODS:
        raise ParameterError(f"significant must be one of {', '.join(METHODS)}, got {method!r:.40}")
    count = len(p_values)
    if method == "bonferroni":
        return np.asarray(p_values <= level / max(count, 1))
    order = np.argsort(p_values, kind="stable")
    falls = p_values[order] <= level / np.arange(count, 0, -1)
    kept = np.flatnonzero(~falls)
    rejected = np.zeros(count, dtype=np.bool_)
    rejected[order[: kept[0] if len(kept) else count]] = True
    return rejected


def _binomial_tail(counts: Counts, trials: Counts, chance: float) -> Floats:
    """Return P[Bin(trials, chance) ≥ count] by the incomplete beta function; 1 for a count of 0."""
    tails = np.ones(len(counts))
    some = counts > 0
    if some.any():
        hits, left = counts[some].astype(np.float64), (trials - counts)[some].astype(np.float64)
        tails[some] = _incomplete_beta()(hits, left + 1.0, chance)
    return tails


@cache
def _incomplete_beta() -> Callable[[Floats, Floats, float], Floats]:
    beta: Callable[[Floats, Floats, float], Floats] = import_module("scipy.special").betainc
    return beta  # takes 0.3 s
