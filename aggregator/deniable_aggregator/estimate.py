"""Estimate: raw values, standard errors, intervals and trust bounds of one tally."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deniable_aggregator.channel import Channel, Counts, Floats
from deniable_aggregator.intervals import clopper_pearson
from deniable_aggregator.projection import onto_box, onto_simplex
from deniable_aggregator.trust import influence, reports_to_leave
from deniable_shared.errors import ParameterError

__all__ = ["FAMILIES", "Estimate", "debias"]

FAMILIES = ("each", "all")
_PROJECTIONS = {"simplex": onto_simplex, "clip": onto_box}


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What n reports say, one entry for each label; the arrays are read-only.

    `frequencies` are raw: unbiased, possibly negative or above 1. `std_errors` and the interval
    [`lower`, `upper`] speak of the population that the reporters were drawn from. The interval
    covers the population's frequency with probability at least `confidence`, and the frequency
    among these very reporters too, more often still. It is clipped to [0, 1] after the debias.
    Under family "each" that holds for each label by itself, under "all" for all labels at once.
    `influence` and `reports_to_leave` are those of `deniable_aggregator.trust`.
    At n = 0 frequencies and standard errors are NaN and every interval is [0, 1].
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

    def __post_init__(self) -> None:
        for values in self._arrays:
            if values.shape != self.frequencies.shape:
                raise ParameterError(f"estimates must have one length, got {values.shape}")
            values.flags.writeable = False

    @property
    def _arrays(self) -> tuple[Floats | Counts, ...]:
        limits = (self.lower, self.upper)
        return (self.frequencies, self.std_errors, *limits, self.reports_to_leave)

    def projected(self, kind: str) -> Floats:
        """Presentable frequencies: "simplex" (≥ 0, sum 1) for choices or "clip" ([0, 1]) for bits.

        Biased, so without standard error or interval. NaN at n = 0.
        """
        if kind not in _PROJECTIONS:
            raise ParameterError(f'projection must be "simplex" or "clip", got {kind!r}')
        return _PROJECTIONS[kind](self.frequencies) if self.n else self.frequencies.copy()


def debias(
    channel: Channel,
    counts: Counts,
    n: int,
    *,
    confidence: float = 0.95,
    epochs: int = 1,
    family: str = "each",
) -> Estimate:
    """Estimate frequencies from `counts` of supports, each in [0, n], among n reports.

    Raises ParameterError for confidence outside (0, 1), family not "each" or "all", epochs < 1.
    `epochs`, over how many the tally was summed, changes nothing while a device answers once:
    reports of different epochs are then of different devices, and as independent as any.
    """
    tail = _tail(confidence, family, len(counts))
    if epochs < 1:
        raise ParameterError(f"epochs must be at least 1, got {epochs}")
    if n == 0:
        return _nothing(len(counts), confidence, family)
    frequencies = channel.frequencies(counts, n)
    least, most = clopper_pearson(counts, n, tail)
    return Estimate(
        frequencies=frequencies,
        std_errors=channel.std_errors(frequencies, n),
        lower=onto_box(channel.frequency_of(least)),
        upper=onto_box(channel.frequency_of(most)),
        n=n,
        confidence=confidence,
        family=family,
        reports_to_leave=reports_to_leave(counts, n, least, most),
        influence=influence(channel, n),
    )


def _tail(confidence: float, family: str, cells: int) -> float:
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


def _nothing(cells: int, confidence: float, family: str) -> Estimate:
    return Estimate(
        frequencies=np.full(cells, math.nan),
        std_errors=np.full(cells, math.nan),
        lower=np.zeros(cells),
        upper=np.ones(cells),
        n=0,
        confidence=confidence,
        family=family,
        reports_to_leave=np.zeros(cells, dtype=np.int64),
        influence=math.nan,
    )
