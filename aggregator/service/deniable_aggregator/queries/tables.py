"""Estimates of tables of a record's attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from deniable_aggregator.documents.estimates import AssociationDocument
from deniable_estimators.inference.association import Untestable, association
from deniable_estimators.inference.marginals import axes_of, labels_of, table_estimator
from deniable_estimators.inference.tables import (
    IntervalSettings,
    TableEstimator,
    join_tables,
    table,
)
from deniable_gateway.problem import SHOWN_CHARACTERS, Problem, refuse
from deniable_shared.domains import Record
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.queries.pooled_tallies import PooledTally
    from deniable_estimators.inference.debias import Estimate

MAX_ROWS = 200_000
"""Most cells of all tables of one answer."""

_PAIR = 2
_Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LabelledEstimates:
    """Estimates of one set of reports, their labels, and tests of association.

    An estimate of the mean alone has no labels.
    """

    parts: tuple[Estimate, ...]
    labels: Sequence[str]
    associations: list[AssociationDocument] = field(default_factory=list)
    reports: Sequence[int] | None = None
    evidence: Literal["held-out", "all"] | UnsetType = UNSET

    @property
    def estimate(self) -> Estimate:
        """All estimates as one."""
        return self.parts[0] if len(self.parts) == 1 else join_tables(self.parts)

    def projected(self, kind: str) -> list[float]:
        """Projected frequencies, part by part."""
        return [value for part in self.parts for value in part.projected(kind).tolist()]


def table_axes(collection: Collection, marginals: Sequence[str]) -> list[_Axes]:
    """The attributes of each table; none to show all labels. Raises invalid-argument."""
    domain = collection.manifest.domain
    if not isinstance(domain, Record):
        if marginals:
            raise refuse("marginal", accepted="left out: only records have one", given=marginals[0])
        return []
    if not marginals and collection.estimator.estimand == "tables":
        return [(axis,) for axis in range(len(domain.radices))]
    axes_of_tables = [_axes(domain, names) for names in marginals]
    estimator = table_estimator(collection.estimator, collection.mechanism, domain)
    for axes, names in zip(axes_of_tables, marginals, strict=True):
        _check_axes(estimator, axes, names)
    if sum(len(labels_of(domain, axes)) for axes in axes_of_tables) > MAX_ROWS:
        raise refuse("marginal", accepted=f"tables of {MAX_ROWS:,} cells in all", given="more")
    return axes_of_tables


def _axes(domain: Record, names: str) -> _Axes:
    whole = [names] if names in domain.topics else [name.strip() for name in names.split(",")]
    try:
        return axes_of(domain, whole)
    except ParameterError as error:
        raise _refused(error, names) from error


def _check_axes(estimator: TableEstimator, axes: _Axes, names: str) -> None:
    try:
        estimator.check(axes)
    except ParameterError as error:
        raise _refused(error, names) from error


def _refused(error: ParameterError, names: str) -> Problem:
    return Problem(
        "invalid-argument",
        str(error),
        argument="marginal",
        accepted="names of attributes of the record, with commas, that its reports contain",
        given=names[:SHOWN_CHARACTERS],
    )


def table_estimates(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    axes_of_tables: Sequence[_Axes],
) -> LabelledEstimates:
    """Each table, for two attributes with its test; all intervals together form one family."""
    domain = collection.manifest.domain
    if not isinstance(domain, Record):
        raise ParameterError(f"tables must be those of a record, got {domain.type}")
    estimator = table_estimator(collection.estimator, collection.mechanism, domain)
    labels = [label for axes in axes_of_tables for label in labels_of(domain, axes)]
    settings = IntervalSettings(
        question.confidence, len(reports.epochs), question.family, len(labels)
    )
    parts = tuple(
        table(estimator, reports.tally, reports.n, axes, settings) for axes in axes_of_tables
    )
    pairs = [axes for axes in axes_of_tables if len(axes) == _PAIR]
    return LabelledEstimates(
        parts, labels, [_test(estimator, domain, reports, axes) for axes in pairs]
    )


def _test(
    estimator: TableEstimator, domain: Record, reports: PooledTally, axes: _Axes
) -> AssociationDocument:
    first, second = axes
    result = association(
        estimator.source(reports.tally, reports.n, axes),
        (domain.radices[first], domain.radices[second]),
        epochs=1 if estimator.repeat == "once" else len(reports.epochs),
    )
    names = [domain.topics[axis] for axis in axes]
    if isinstance(result, Untestable):
        return AssociationDocument(attributes=names, undecided=result.reason)
    return AssociationDocument(
        attributes=names,
        statistic=result.statistic,
        degrees_of_freedom=result.degrees,
        p_value=result.p_value,
    )
