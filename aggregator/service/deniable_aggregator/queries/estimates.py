"""Debiased estimates of one collection: all epochs as one, or epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from msgspec import UNSET

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import (
    EstimatesAnswer,
    EstimatesByEpochDocument,
    EstimatesDocument,
    HoldDocument,
    LabelEstimate,
    TrustDocument,
)
from deniable_aggregator.queries.diagnostics import (
    Projection,
    RowEvidence,
    accepted_projections,
    anomaly_warnings,
    label_sets,
    likelihood_projection,
    row_evidence,
    set_documents,
)
from deniable_aggregator.queries.epoch_ranges import moments_range
from deniable_aggregator.queries.guarantees import relay_anonymity
from deniable_aggregator.queries.labels import label_estimates
from deniable_aggregator.queries.numbers import (
    NumberArguments,
    finite,
    influence_of,
    number_arguments,
    number_documents,
)
from deniable_aggregator.queries.pooled_tallies import (
    EpochRange,
    PooledTally,
    pooled_tally,
    tallies_by_epoch,
)
from deniable_aggregator.queries.tables import LabelledEstimates, table_axes
from deniable_aggregator.queries.texts import check_candidates, refuse_test_of_discovered_texts
from deniable_estimators.inference.manipulation import UNREACHABLE
from deniable_estimators.inference.projection import limits_around
from deniable_gateway.problem import refuse
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Reports
    from deniable_estimators.inference.debias import Estimate
    from deniable_shared.manifest.model import Manifest


def answer(
    store: Reports, collection: Collection, question: EstimatesArguments, *, relay_batch: int = 0
) -> EstimatesAnswer:
    """One document, or one for each epoch if the query groups by epoch."""
    ask = estimates_by_epoch if question.group_by == "epoch" else estimates
    return ask(store, collection, question, relay_batch=relay_batch)


def estimates(
    store: Reports, collection: Collection, question: EstimatesArguments, *, relay_batch: int = 0
) -> EstimatesDocument:
    """All epochs of the query as one document.

    `relay_batch`: the least number of reports that relays pass on together; 0: no relays.
    Raises read-refused, too-few-reports and invalid-argument as Problem, or DamagedError.
    """
    checked = _check_arguments(collection, question)
    reports = pooled_tally(store, collection, checked.span)
    return _document(collection, reports, question, checked, relay_batch=relay_batch)


def estimates_by_epoch(
    store: Reports, collection: Collection, question: EstimatesArguments, *, relay_batch: int = 0
) -> EstimatesByEpochDocument:
    """A document for each epoch with enough reports. Raises as `estimates`."""
    checked = _check_arguments(collection, question)
    tallies, few = tallies_by_epoch(store, collection, checked.span)
    documents = [
        _document(collection, reports, question, checked, relay_batch=relay_batch)
        for reports in tallies
    ]
    return EstimatesByEpochDocument(documents, list(few))


def plain_estimates(
    collection: Collection, reports: PooledTally, question: EstimatesArguments | None = None
) -> EstimatesDocument:
    """The document of these reports without options."""
    question = question or EstimatesArguments()
    checked = _CheckedArguments(
        table_axes(collection, []), [], number_arguments(collection, question), EpochRange()
    )
    return _document(collection, reports, question, checked, relay_batch=0)


class _CheckedArguments(NamedTuple):
    """The checked tables, sets, options of numbers, and epochs of a query."""

    axes: list[tuple[int, ...]]
    sets: list[tuple[int, ...]]
    numbers: NumberArguments
    span: EpochRange


def _check_arguments(collection: Collection, question: EstimatesArguments) -> _CheckedArguments:
    """The query's arguments. Raises invalid-argument."""
    axes = table_axes(collection, question.marginal)
    check_candidates(collection, question.candidate)
    sets, numbers = label_sets(collection, question.sets), number_arguments(collection, question)
    _check_projection(collection, question.projection, tables=bool(axes))
    refuse_test_of_discovered_texts(collection, question)
    span = moments_range(question.first, question.last, collection.manifest.epoch_seconds)
    return _CheckedArguments(axes, sets, numbers, span)


def _check_projection(collection: Collection, projection: str, *, tables: bool) -> None:
    accepted = accepted_projections(collection, tables=tables)
    if projection not in accepted:
        named = f"{', '.join(accepted[:-1])} or {accepted[-1]}"
        domain = collection.manifest.domain.type
        raise refuse("projection", accepted=f"{named} for {domain}", given=projection)


def _document(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    checked: _CheckedArguments,
    *,
    relay_batch: int,
) -> EstimatesDocument:
    labelled = label_estimates(collection, reports, question, checked.axes)
    projection = _projection(collection, reports, question.projection, labelled)
    estimate = labelled.estimate
    evidence = row_evidence(estimate, question)
    return EstimatesDocument(
        collection=collection.id,
        mechanism=collection.mechanism.id,
        epsilon=format_epsilon(collection.mechanism.epsilon),
        repeat=collection.manifest.repeat,
        **_hold_fields(collection.manifest, reports.epochs),
        n=reports.n,
        epochs=list(reports.epochs),
        provisional=reports.provisional,
        confidence=question.confidence,
        **number_documents(collection, reports, question, checked.numbers),
        estimates=_rows(labelled, estimate, projection, n=reports.n, evidence=evidence),
        associations=labelled.associations if checked.axes else UNSET,
        evidence=labelled.evidence,
        sets=set_documents(collection, reports, question, checked.sets),
        likelihood_short=UNSET if projection is None else projection.short,
        warnings=anomaly_warnings(collection, reports),
        trust=TrustDocument(finite(influence_of(collection, estimate.influence))),
        shuffled=relay_anonymity(collection, relay_batch, question.liars),
    )


def _rows(
    labelled: LabelledEstimates,
    estimate: Estimate,
    projection: Projection | None,
    *,
    n: int,
    evidence: Sequence[RowEvidence],
) -> list[LabelEstimate]:
    """One row for each label; none if only a mean is estimated."""
    if not labelled.labels:
        return []
    columns = zip(
        labelled.labels,
        estimate.frequencies.tolist(),
        estimate.std_errors.tolist(),
        estimate.lower.tolist(),
        estimate.upper.tolist(),
        _projected_fields(projection, estimate),
        [UNSET] * len(estimate.frequencies) if labelled.reports is None else labelled.reports,
        estimate.reports_to_leave.tolist(),
        estimate.devices_to_leave.tolist(),
        evidence,
        strict=True,
    )
    return [
        LabelEstimate(
            label=label,
            count=finite(n * frequency),
            frequency=finite(frequency),
            std_error=finite(std_error),
            lower=finite(lower),
            upper=finite(upper),
            **projected,
            reports=reports,
            reports_to_leave_interval=_reachable(reports_to_leave),
            devices_to_leave_interval=_reachable(devices_to_leave),
            **row_fields,
        )
        for (
            label,
            frequency,
            std_error,
            lower,
            upper,
            projected,
            reports,
            reports_to_leave,
            devices_to_leave,
            row_fields,
        ) in columns
    ]


class _ProjectedFields(TypedDict, total=False):
    projected: float | None
    projected_lower: float | None
    projected_upper: float | None


def _projected_fields(projection: Projection | None, estimate: Estimate) -> list[_ProjectedFields]:
    """The projected field of each label; empty if the request has no projection."""
    if projection is None:
        return [_ProjectedFields() for _ in estimate.frequencies]
    lower, upper = limits_around(projection.values, estimate.lower, estimate.upper)
    columns = zip(projection.values, lower.tolist(), upper.tolist(), strict=True)
    return [
        _ProjectedFields(
            projected=finite(value), projected_lower=finite(least), projected_upper=finite(most)
        )
        for value, least, most in columns
    ]


def _reachable(fabricated: int) -> int | None:
    return None if fabricated == UNREACHABLE else fabricated


def _projection(
    collection: Collection, reports: PooledTally, kind: str, labelled: LabelledEstimates
) -> Projection | None:
    if kind == "none":
        return None
    if kind in ("mle", "ems"):
        return likelihood_projection(collection, reports, smooth=kind == "ems")
    return Projection(labelled.projected("simplex" if kind == "top-down" else kind))


class _HoldFields(TypedDict, total=False):
    holds: list[HoldDocument]
    linkage: float


def _hold_fields(manifest: Manifest, epochs: Sequence[int]) -> _HoldFields:
    """Fields of permanent answers: which values they are, and how linkable devices are."""
    if manifest.repeat != "memoized":
        return {}
    schedule = manifest.schedule
    spans = [schedule.hold_span(hold) for hold in sorted({*map(schedule.hold_at, epochs)})]
    holds = [HoldDocument(span[0], min(span[-1], manifest.last_epoch)) for span in spans]
    return {"holds": holds, "linkage": manifest.linkage}
