"""Targets of a question besides labels: a mean, ranges, tables or texts.

    mean     n·Var if answers spread evenly over the values, as a share of the range; of the
             people who answer V/4 at the answer with the largest variance, V for [−1, 1]
    ranges   n·Var of a range of values, the mean over all ranges (`range_error`)
    tables   n·Var of a cell of two attributes, the mean over all tables (`record_choice`)
    texts    that of a label near 0, from the reports that are held out (`prefix_hash`)

Ranges are those of answers that spread evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import numpy as np

from deniable_aggregator.collections.authoring.lint_domains import range_variance
from deniable_aggregator.collections.authoring.record_recommendation import (
    AttributeSampler,
    two_way_error,
)
from deniable_aggregator.collections.planning.variance import Precision, ScorePrecision
from deniable_shared import mechanisms
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.mechanisms import Mechanism

CANDIDATES = 1_000
"""The number of texts among which one must be detected."""


@runtime_checkable
class _Scores(Protocol):
    """A mechanism whose outputs are scores; a `window` of them is likelier."""

    @property
    def scores(self) -> Sequence[int]: ...

    @property
    def outputs(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def domain_size(self) -> int: ...

    def moments(self, p: Fraction) -> Sequence[tuple[Fraction, Fraction]]: ...

    def worst_variance(self, p: Fraction) -> Fraction: ...


@dataclass(frozen=True, slots=True)
class _MeanPrecision(ScorePrecision):
    """The precision of a mean, as a share of the range."""

    def _variance_of(self, mechanism: Mechanism) -> float:
        return _mean_square(mechanism) / 4 if self.population else float(worst_mean(mechanism))

    @property
    def _sampling_variance(self) -> float:
        return _spread(self.mechanism) if self.population else 0.0

    @property
    def _pull(self) -> float:
        return 1 / (2 * self._gap)

    def half_width(self, reports: int, confidence: float) -> float:
        """See `Precision`; if a report is one bit, limits are exact."""
        if not self.population or isinstance(_first_round(self.mechanism), _Scores):
            return ScorePrecision.half_width(self, reports, confidence)
        return Precision(self.mechanism, 0.5).half_width(reports, confidence)

    @property
    def _gap(self) -> float:
        form = _first_round(self.mechanism)
        gap = float(self.mechanism.p - self.mechanism.q)
        if not isinstance(form, _Scores):
            return gap
        last = sum(form.scores[form.outputs - form.window :])
        return gap * last / form.window / max(form.scores)

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least detectable distance of a mean from a given value; None if there is none."""
        return _two_sided(self.std_error(reports), confidence, power)


@dataclass(frozen=True, slots=True)
class _RangePrecision(ScorePrecision):
    """The precision of a range of values."""

    def _variance_of(self, mechanism: Mechanism) -> float:
        variance = range_variance(mechanism)
        if variance is None:
            able = " or ".join(mechanisms.ids_for_target("ranges"))
            raise ParameterError(f"mechanism must be {able}, got {mechanism.id}")
        return float(variance)

    @property
    def _sampling_variance(self) -> float:
        return 0.0

    @property
    def _pull(self) -> float:
        """See `ScorePrecision`. A range uses one or two nodes of a level; a report has half."""
        return 1 / (2 * self._gap * float(self.mechanism.sampling_fraction))

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least share of a range that is detected; None if more than 1."""
        return _two_sided(self.std_error(reports), confidence, power)


@dataclass(frozen=True, slots=True)
class _TablePrecision(ScorePrecision):
    """The precision of a cell of two attributes; `radices`: label counts of the record."""

    radices: tuple[int, ...] = ()

    def _variance_of(self, mechanism: Mechanism) -> float:
        return float(two_way_error(mechanism, self.radices))

    @property
    def _sampling_variance(self) -> float:
        cells = self._cells
        return sum(1 - 1 / size for size in cells) / sum(cells)

    @property
    def _pull(self) -> float:
        form = _first_round(self.mechanism)
        if isinstance(form, AttributeSampler):
            return form.cell_influence(float(self.mechanism.p - self.mechanism.q))
        of_cell = self.mechanism.domain_size // min(self._cells)
        together = min(of_cell, JointSupports.of(self.mechanism).group_size)
        return together / (2 * float(self.mechanism.p - self.mechanism.q))

    @property
    def _gap(self) -> float:
        """p − q of a cell: a report supports some of its combinations, or one of three parities."""
        gap = float(self.mechanism.p - self.mechanism.q)
        form = _first_round(self.mechanism)
        if isinstance(form, AttributeSampler):
            return form.cell_gap(gap)
        of_cell = self.mechanism.domain_size // min(self._cells)
        return gap / min(of_cell, JointSupports.of(self.mechanism).max_support)

    @property
    def _cells(self) -> list[int]:
        every = range(len(self.radices))
        return [self.radices[i] * self.radices[j] for j in every for i in range(j)]

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least share of a cell that is detected among all cells of the largest table."""
        return _least(self.std_error(reports), max(self._cells), confidence, power)


@dataclass(frozen=True, slots=True)
class _TextPrecision(Precision):
    """The precision of the frequency of one text."""

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least share of a text whose interval excludes 0, among a thousand candidates."""
        both_sides = 2 * CANDIDATES  # `heavy_hitters` leaves half of its level to each side
        return self._least_frequency_among(both_sides, reports, confidence, power)


def _mean_square(mechanism: Mechanism) -> float:
    """E s² of the score of a report for a mean on [−1, 1], if answers spread evenly."""
    form = _first_round(mechanism)
    if not isinstance(form, _Scores):
        return 1 / float(mechanism.p - mechanism.q) ** 2
    starts = form.moments(mechanism.p)
    places, squares = zip(*((float(at), float(square)) for at, square in starts), strict=True)
    values = np.linspace(-1.0, 1.0, form.domain_size)
    return float(np.interp(values, places, squares).mean())


def worst_mean(mechanism: Mechanism) -> Fraction:
    """n·Var of a mean of the people who answered, as a share of the range, at the worst answer."""
    form = _first_round(mechanism)
    if isinstance(form, _Scores):
        return form.worst_variance(mechanism.p) / 4
    return 1 / (4 * (mechanism.p - mechanism.q) ** 2)


def _spread(mechanism: Mechanism) -> float:
    """The variance of equally spaced values, as a share of their range."""
    return (mechanism.domain_size + 1) / (mechanism.domain_size - 1) / 12


@dataclass(frozen=True, slots=True)
class Target:
    """The compared mechanisms, their precision, and their description."""

    description: str
    best: str
    unknown: str
    name: str
    precision: Callable[..., Precision]
    influence: bool = True

    def of(
        self, mechanism: Mechanism, frequency: float, population: bool, radices: tuple[int, ...]
    ) -> Precision:
        """The precision of a mechanism for this target."""
        more = {"radices": radices} if self.precision is _TablePrecision else {}
        return self.precision(mechanism, frequency, population, **more)


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "mean": Target(
            "the mean of answers spread evenly, in shares of the range",
            "the narrowest interval",
            "the least error has no closed form; optimal-mean/1 is within 3% of what a linear "
            "program finds, up to ε = 6",
            "mean",
            _MeanPrecision,
        ),
        "ranges": Target(
            "a range of values, the mean over all ranges",
            "the narrowest interval of a range",
            "the least error of ranges is not known",
            "ranges",
            _RangePrecision,
            influence=False,
        ),
        "tables": Target(
            "a cell of two attributes, the mean over all tables",
            "",
            "the least error of tables is not known",
            "tables",
            _TablePrecision,
        ),
        "texts": Target(
            "a text near 0, of a list or discovered",
            "",
            "the least error of search and count together is not known",
            "texts",
            _TextPrecision,
        ),
    }
)


def _first_round(mechanism: Mechanism) -> Mechanism:
    return cast("Mechanism", mechanism.first) if isinstance(mechanism, MemoizedChain) else mechanism


def _two_sided(error: float, confidence: float, power: float) -> float | None:
    law = NormalDist()
    least = (law.inv_cdf((1 + confidence) / 2) + law.inv_cdf(power)) * error
    return least if least <= 1 else None


def _least(error: float, among: int, confidence: float, power: float) -> float | None:
    law = NormalDist()
    least = (law.inv_cdf(1 - (1 - confidence) / among) + law.inv_cdf(power)) * error
    return least if least <= 1 else None
