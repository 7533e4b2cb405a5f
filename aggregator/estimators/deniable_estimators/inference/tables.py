"""Estimates of the cells of a table, with intervals that hold for every kind of report.

If each report supports a cell or does not, counts are binomial and `debias` has exact limits.
Otherwise the score of a report has many values, and the limits are those of `score_limits`, with
the variance of the formula at clip(f̂, 0, 1).

A fake report moves an estimate by at most `reach`. So fewer than `reports_to_leave` fake reports
cannot push it out of its interval. Source: docs/mathematics/intervals.md, Made-up reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from deniable_estimators.inference.cell_sums import CellSums
from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import Estimate, check_epochs, debias, tail_of
from deniable_estimators.inference.manipulation import UNREACHABLE
from deniable_estimators.inference.pooled_tables import CellEstimates, PooledTable, ReportGroup
from deniable_estimators.inference.projection import onto_box
from deniable_estimators.inference.score_limits import distances

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """`cells` is how many intervals hold together under family "all", if more than the table's."""

    confidence: float = 0.95
    epochs: int = 1
    family: str = "each"
    cells: int = 0

    def __post_init__(self) -> None:
        check_epochs(self.epochs)
        self.tail(1)

    def tail(self, cells: int) -> float:
        """Return the chance that an interval may miss on either side."""
        return tail_of(self.confidence, self.family, max(cells, self.cells))


@runtime_checkable
class TableEstimator(Protocol):
    """An estimator of tables of a record's attributes."""

    @property
    def repeat(self) -> str:
        """See `protocols.Estimator`."""
        ...

    @property
    def radices(self) -> tuple[int, ...]:
        """The number of labels of each attribute."""
        ...

    def check(self, axes: Sequence[int]) -> None:
        """Raises ParameterError if there is no table of these attributes together."""

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> CellEstimates | CellSums:
        """Return the cells of the table of these attributes, in order, from a tally of n reports.

        Raises ParameterError if `check` does, and for a tally that n reports cannot give.
        """
        ...


def table(
    tabular: TableEstimator, tally: Counts, n: int, axes: Sequence[int], settings: IntervalSettings
) -> Estimate:
    """Return the cells of the table of these attributes; see `TableEstimator.source`."""
    source = tabular.source(tally, n, axes)
    if isinstance(source, CellSums):
        return source.estimate(
            confidence=settings.confidence,
            family=settings.family,
            epochs=settings.epochs,
            tail=settings.tail(source.cells),
        )
    alike = 1 if tabular.repeat == "once" else settings.epochs
    if isinstance(source, PooledTable) and len(source.kinds) == 1 and source.kinds[0].binary:
        return _counted(source.kinds[0], n, settings, alike)
    return _scored(source, n, settings, alike)


def one_way_tables(
    tabular: TableEstimator, tally: Counts, n: int, settings: IntervalSettings
) -> Estimate:
    """Return the table of each attribute alone, one after the other."""
    held = IntervalSettings(
        settings.confidence, settings.epochs, settings.family, sum(tabular.radices)
    )
    axes = range(len(tabular.radices))
    return join_tables([table(tabular, tally, n, (axis,), held) for axis in axes])


class OneWayTables:
    """A `TableEstimator` whose estimate is the table of each attribute alone."""

    __slots__ = ()

    def supports(self, tallies: Counts) -> Counts:
        """Return int64[…, 0]: reports support no combination of all attributes."""
        return tallies[..., :0]

    def estimate(
        self: TableEstimator,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """Estimate the labels of each attribute, one attribute after the other."""
        return one_way_tables(self, tally, n, IntervalSettings(confidence, epochs, family))


def join_tables(tables: Sequence[Estimate]) -> Estimate:
    """Return several tables of the same reports as one estimate; its influence is the largest."""
    first = tables[0]
    return Estimate(
        frequencies=np.concatenate([each.frequencies for each in tables]),
        std_errors=np.concatenate([each.std_errors for each in tables]),
        lower=np.concatenate([each.lower for each in tables]),
        upper=np.concatenate([each.upper for each in tables]),
        n=first.n,
        confidence=first.confidence,
        family=first.family,
        reports_to_leave=np.concatenate([each.reports_to_leave for each in tables]),
        influence=float(np.max([each.influence for each in tables])),
        channel=first.channel if len(tables) == 1 else None,
        sampling_fraction=first.sampling_fraction,
        epochs=first.epochs,
    )


def _counted(kind: ReportGroup, n: int, settings: IntervalSettings, alike: int) -> Estimate:
    """Return binomial counts: each report supports a cell once or not at all."""
    outside = kind.law.mean(kind.size, inside=False)
    cells = len(kind.supports)
    tail = settings.tail(cells)
    return debias(
        Channel(outside + kind.law.gap, outside),
        kind.supports,
        n,
        confidence=settings.confidence,
        epochs=settings.epochs,
        family=settings.family,
        clusters=_clusters(kind, alike),
        trials=np.full(cells, kind.n),
        sampling_fraction=kind.sampling_fraction,
        tail=tail,
    )


def _clusters(kind: ReportGroup, alike: int) -> Clusters | None:
    if alike == 1:
        return None
    outside = kind.law.mean(kind.size, inside=False)
    if kind.shared is None:
        return Clusters(outside, outside + kind.law.gap, 1 + (alike - 1) * kind.sampling_fraction)
    kept = kind.law.gap / kind.shared.gap
    low = outside - kept * kind.shared.mean(kind.size, inside=False)
    return Clusters(low, low + kept, Fraction(alike))


def _scored(source: CellEstimates, n: int, settings: IntervalSettings, alike: int) -> Estimate:
    frequencies = source.frequencies
    near, tail = onto_box(frequencies), settings.tail(len(frequencies))
    variances = source.variances(near, alike)
    below, above = (distances(variances, pull, tail) for pull in source.pulls(near, alike))
    return Estimate(
        frequencies=frequencies,
        std_errors=np.sqrt(variances),
        lower=np.nan_to_num(onto_box(frequencies - below), nan=0.0),
        upper=np.nan_to_num(onto_box(frequencies + above), nan=1.0),
        n=n,
        confidence=settings.confidence,
        family=settings.family,
        reports_to_leave=_least_above(np.minimum(below, above), source.reach),
        influence=min(settings.epochs, n) * source.reach if n else math.nan,
        channel=None,
        epochs=settings.epochs,
    )


def _least_above(distance: Floats, reach: float) -> Counts:
    """Return the least number of steps of `reach` that exceed each distance."""
    reachable = np.isfinite(distance) & (reach > 0)
    steps = np.divide(distance, reach, out=np.zeros(len(distance)), where=reachable)
    return np.where(reachable, np.floor(np.minimum(steps, float(UNREACHABLE >> 1))) + 1, 0).astype(
        np.int64
    )
