"""Estimate: raw values, standard errors, intervals and trust bounds of one tally."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts, Floats, independent
from deniable_estimators.inference.intervals import clopper_pearson
from deniable_estimators.inference.manipulation import (
    UNREACHABLE,
    influence,
    liars_to_zero,
    limits_under_lies,
    reports_to_leave,
    worst_share,
)
from deniable_estimators.inference.projection import onto_box, onto_simplex
from deniable_estimators.inference.significance import (
    Flags,
    SupportEvidence,
    rejected_hypotheses,
    tails_under_null,
)
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_estimators.inference.clusters import Clusters

FAMILIES = ("each", "all")
PROJECTIONS = ("simplex", "clip", "base-cut")


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What n reports say, one entry for each label; the arrays are read-only.

    `frequencies` are raw: unbiased, possibly negative or above 1. `std_errors` and the interval
    [`lower`, `upper`] speak of the population that the reporters were drawn from. The interval
    covers the population's frequency with probability at least `confidence`, and the frequency
    among these very reports too, more often still. It is clipped to [0, 1] after the debias.
    Under family "each" that holds for each label by itself, under "all" for all labels at once.
    Where a device answers in several of the `epochs`, both hold whatever device sent which reports.
    `fitted`, where a mechanism is read by a likelihood, is what "simplex" projects to.
    `influence` and `reports_to_leave` are those of `inference.manipulation`. A label that no report
    tells of, any label at n = 0, has NaN for frequency and standard error, and [0, 1].
    """

    frequencies: Floats
    std_errors: Floats
    lower: Floats
    upper: Floats
    n: int
    confidence: float
    family: str
    reports_to_leave: Counts
    influence: float
    channel: Channel | None = field(repr=False)
    sampling_fraction: Fraction = Fraction(1)
    epochs: int = 1
    fitted: Floats | None = field(default=None, repr=False)
    evidence: SupportEvidence | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for values in self._arrays:
            if values.shape != self.frequencies.shape:
                raise ParameterError(f"estimates must have one length, got {values.shape}")
            values.flags.writeable = False

    @property
    def _arrays(self) -> tuple[Floats | Counts, ...]:
        limits = (self.lower, self.upper)
        return (self.frequencies, self.std_errors, *limits, self.reports_to_leave)

    @property
    def devices_to_leave(self) -> Counts:
        """The least number of lying devices that make `reports_to_leave`, one in every epoch."""
        reports = self.reports_to_leave
        return np.where(reports == UNREACHABLE, UNREACHABLE, -(-reports // self.epochs))

    def under_lies(self, liars: float) -> tuple[Floats, Floats]:
        """Limits (lower, upper) for honest people if a share `liars` of the reports is made up.

        k devices make at most k·`epochs` of the n. Where a device chooses which labels it tells
        of, all liars choose the label in question. ParameterError unless 0 ≤ liars < 1, and for
        sums of labels, whose reports do more than support them or not.
        """
        channel, share = self._channel_of_labels(), worst_share(liars, self.sampling_fraction)
        return limits_under_lies(channel, self.lower, self.upper, share)

    def liars_to_zero(self) -> Floats:
        """The least share of made-up reports with which the interval under lies reaches 0.

        0 where it does without any: "somebody has it" is concluded from no label of these.
        """
        return liars_to_zero(self._channel_of_labels(), self.lower, self.sampling_fraction)

    def _channel_of_labels(self) -> Channel:
        if self.channel is None:
            raise ParameterError("liars must be asked for by label: these are sums of labels")
        return self.channel

    def p_values(self) -> Floats:
        """The chance of so many supports or more if nobody had the label; exact, one-sided."""
        if self.evidence is None or self.channel is None:
            raise ParameterError(
                "significant must be left out: no report supports one of these by itself"
            )
        return tails_under_null(self.channel, self.evidence)[0]

    def significant(self, method: str = "holm") -> Flags:
        """Which labels somebody has, none of them wrongly with probability `confidence`.

        Family-wise over all labels, by "holm" or "bonferroni", whatever `family` is.
        """
        return rejected_hypotheses(self.p_values(), 1.0 - self.confidence, method)

    def projected(self, kind: str) -> Floats:
        """Presentable frequencies, biased, so without standard error or interval. NaN at n = 0.

        "simplex" (≥ 0, sum 1) for choices, "clip" ([0, 1]) for bits; "base-cut" for both: 0 unless
        the label is significant by Holm, else what "clip" gives.
        """
        if kind not in PROJECTIONS:
            raise ParameterError(f"projection must be one of {PROJECTIONS}, got {kind!r:.40}")
        if not self.n:
            return self.frequencies.copy()
        if kind == "base-cut":
            return np.where(self.significant(), onto_box(self.frequencies), 0.0)
        if kind == "simplex":
            return onto_simplex(self.frequencies) if self.fitted is None else self.fitted.copy()
        return onto_box(self.frequencies)


def debias(  # noqa: PLR0913  (published: notebooks call it)
    channel: Channel,
    counts: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
    family: str = "each",
    clusters: Clusters | None = None,
    trials: Counts | None = None,
    sampling_fraction: Fraction = Fraction(1),
    tail: float | None = None,
) -> Estimate:
    """Estimate frequencies from `counts` of supports among n reports of `epochs` epochs.

    `trials` says how many of the n tell of each label, all if not given; each count lies in
    [0, trials]. `clusters` says how reports of one device depend on each other; without it they
    are of different devices, and as independent as any. `sampling_fraction` is the share of the
    labels in a report.
    `tail` is what an interval may leave on either side; it follows from the others if not given.
    Raises ParameterError for confidence outside (0, 1), family not "each" or "all", epochs < 1.
    """
    aside = tail_of(confidence, family, len(counts)) if tail is None else tail
    check_epochs(epochs)
    every = np.full(len(counts), n) if trials is None else trials
    frequencies = channel.frequencies(counts, n if trials is None and n else every)
    least, most = _limits(counts, every, aside, clusters)
    spread = independent if clusters is None else clusters.spread
    return Estimate(
        frequencies=frequencies,
        std_errors=channel.std_errors(frequencies, every, spread),
        lower=onto_box(channel.frequency_of(least)),
        upper=onto_box(channel.frequency_of(most)),
        n=n,
        confidence=confidence,
        family=family,
        reports_to_leave=reports_to_leave(counts, every, least, most),
        influence=influence(channel, int(every[every > 0].min(initial=n)), epochs=epochs),
        channel=channel,
        sampling_fraction=sampling_fraction,
        epochs=epochs,
        evidence=SupportEvidence(counts, every, clusters),
    )


def _limits(
    counts: Counts, trials: Counts, tail: float, clusters: Clusters | None
) -> tuple[Floats, Floats]:
    """Limits of the share of supports, [0, 1] where nothing is told."""
    some = trials > 0
    least, most = np.zeros(len(counts)), np.ones(len(counts))
    if some.any():
        find = clopper_pearson if clusters is None else clusters.limits
        least[some], most[some] = find(counts[some], trials[some], tail)
    return least, most


def check_epochs(epochs: int) -> None:
    """ParameterError unless there is at least one epoch."""
    if epochs < 1:
        raise ParameterError(f"epochs must be at least 1, got {epochs}")


def tail_of(confidence: float, family: str, cells: int) -> float:
    """The probability an interval may leave on either side.

    "all" divides by the number of labels (Bonferroni), which is right under any dependence. The
    bits of one person depend on each other in ways nobody knows, and the labels of a choice shut
    each other out, so Šidák's product has no ground here; at 95% it would gain under 0.3%.
    """
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    if family not in FAMILIES:
        raise ParameterError(f'family must be "each" or "all", got {family!r}')
    return (1 - confidence) / 2 / (cells if family == "all" else 1)
