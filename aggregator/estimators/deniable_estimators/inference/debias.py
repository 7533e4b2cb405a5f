"""Estimates of one tally: raw values, standard errors, intervals and limits under fake reports."""

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
    """The estimate from n reports, one entry per label.

    All arrays are read-only, of shape [labels].

    `frequencies` are raw: unbiased, possibly negative or above 1. `std_errors` and the interval
    [`lower`, `upper`] are about the population that the reporters were drawn from. The interval
    contains the population's frequency with probability at least `confidence`. It contains the
    frequency among these reporters even more often. It is clipped to [0, 1] after debiasing. Under
    family "each" this holds for each label alone, under "all" for all labels at once. If a device
    answers in several of the `epochs`, both hold however the reports are distributed among devices.

    `fitted` is what "simplex" projects to, if the mechanism is read by a likelihood. `influence`
    and `reports_to_leave` are those of `inference.manipulation`. A label without reports, and every
    label at n = 0, has NaN for frequency and standard error, and the interval [0, 1].
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
        """The least number of fake devices that send `reports_to_leave`, one in each epoch."""
        reports = self.reports_to_leave
        return np.where(reports == UNREACHABLE, UNREACHABLE, -(-reports // self.epochs))

    def under_lies(self, liars: float) -> tuple[Floats, Floats]:
        """Return limits (lower, upper) for honest people if a share `liars` of the reports is fake.

        k devices make at most k·`epochs` of the n. If a device chooses which labels it reports, all
        fake reports choose the label in question. Raises ParameterError unless 0 ≤ liars < 1, and
        for sums of labels, whose reports do more than support them or not.
        """
        channel, share = self._channel_of_labels(), worst_share(liars, self.sampling_fraction)
        return limits_under_lies(channel, self.lower, self.upper, share)

    def liars_to_zero(self) -> Floats:
        """Return the least share of fake reports for which the interval under lies reaches 0.

        It is 0 if the interval contains 0 already: then it does not show that the label occurs at
        all.
        """
        return liars_to_zero(self._channel_of_labels(), self.lower, self.sampling_fraction)

    def _channel_of_labels(self) -> Channel:
        if self.channel is None:
            raise ParameterError("liars must be left out: it needs single labels, not sums")
        return self.channel

    def p_values(self) -> Floats:
        """The chance of at least so many supports if no person had the label; exact, one-sided."""
        if self.evidence is None or self.channel is None:
            raise ParameterError(
                "significant must be left out: no report supports one of these by itself"
            )
        return tails_under_null(self.channel, self.evidence)[0]

    def significant(self, method: str = "holm") -> Flags:
        """Return which labels occur; with probability `confidence` none of them is wrong.

        Family-wise over all labels, by "holm" or "bonferroni", for every `family`.
        """
        return rejected_hypotheses(self.p_values(), 1.0 - self.confidence, method)

    def projected(self, kind: str) -> Floats:
        """Return presentable frequencies: biased, so without standard error or interval.

        NaN at n = 0.

        "simplex" (≥ 0, sum 1) is for choices, "clip" ([0, 1]) for bits. "base-cut" is for both: 0
        unless the label is significant by Holm, else what "clip" gives. Raises ParameterError for
        any other kind.
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

    counts: int64[labels]. `trials`, int64[labels], is how many of the n reports are about each
    label, all if not given; each count lies in [0, trials]. `clusters` says how reports of one
    device depend on each other; without it all reports are independent. `sampling_fraction` is the
    share of the labels in a report. `tail` is the chance that an interval may miss on either side;
    it follows from the others if not given.

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
    """Return limits of the share of supports, [0, 1] without reports."""
    some = trials > 0
    least, most = np.zeros(len(counts)), np.ones(len(counts))
    if some.any():
        find = clopper_pearson if clusters is None else clusters.limits
        least[some], most[some] = find(counts[some], trials[some], tail)
    return least, most


def check_epochs(epochs: int) -> None:
    """Raises ParameterError unless there is at least one epoch."""
    if epochs < 1:
        raise ParameterError(f"epochs must be at least 1, got {epochs}")


def tail_of(confidence: float, family: str, cells: int) -> float:
    """Return the chance that an interval may miss on either side.

    "all" divides by the number of labels (Bonferroni), which is right under any dependence. The
    bits of one person depend on each other in unknown ways, and the labels of a choice exclude each
    other. So Šidák's product is not valid here; at 95% it would gain less than 0.3%.
    """
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    if family not in FAMILIES:
        raise ParameterError(f'family must be "each" or "all", got {family!r}')
    return (1 - confidence) / 2 / (cells if family == "all" else 1)
