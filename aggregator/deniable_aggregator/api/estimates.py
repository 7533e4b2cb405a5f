"""Debiased estimates as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from flask import Blueprint, Response
from msgspec import UNSET, UnsetType

from deniable_aggregator.api.operations import operation
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import (
    EstimatesByEpochDocument,
    EstimatesDocument,
    HoldDocument,
    LabelEstimate,
    TrustDocument,
)
from deniable_aggregator.estimate.trust import UNREACHABLE
from deniable_aggregator.problem import refuse
from deniable_aggregator.queries.anonymity import of_relay
from deniable_aggregator.queries.evidence import (
    Presented,
    RowEvidence,
    accepted_projections,
    of_rows,
    of_sets,
    of_shape,
    presented,
    sets_asked,
)
from deniable_aggregator.queries.numbers import Asked, asked_of_numbers, influence_of, of_numbers
from deniable_aggregator.queries.pooled import Reading, Span, by_epoch, pooled, refuse_releases_only
from deniable_aggregator.queries.spans import moments_span
from deniable_aggregator.queries.tables import Shown, shown_tables, tables_asked
from deniable_aggregator.queries.texts import check_candidates, shown_texts
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import CSV, JSON, answer, service
from deniable_aggregator.web.formats import as_table, negotiated, tables
from deniable_aggregator.web.spreadsheet import epoch_rows, label_rows
from deniable_shared.domain import Text
from deniable_shared.dyadic import format_epsilon
from deniable_shared.manifest import Manifest

blueprint = Blueprint("estimates", __name__)


@blueprint.get("/v1/collections/<collection>/estimates")
@operation(
    tag="analysts",
    role="viewer",
    query=EstimatesArguments,
    answers=tables(EstimatesDocument, EstimatesByEpochDocument),
    problems=("unknown-collection", "read-refused", "too-few-reports", "not-acceptable"),
)
def estimates(collection: str, query: EstimatesArguments) -> Response:
    """Debiased frequencies with standard errors and intervals, raw: they may lie outside [0, 1].

    `from` and `to` are inclusive; a date means all epochs that start on that UTC day, unix
    milliseconds the epoch they are in. With `group_by=epoch` there is one document an epoch. CSV,
    Arrow and Parquet give one row a label.

    Numbers have a mean and quantiles, in the units of the domain, if the mechanism tells them.
    `quantile=0.5` asks for this one instead of five, `range=10..20` for the share of people between
    two values, both included, each as often as it is given. With `family=all` the quantiles hold
    together, and the ranges do; the mean holds by itself.

    Where one device may have reported in several epochs, errors and intervals hold whatever device
    sent which reports. A memoized collection speaks of the values at the start of its
    `holds`.

    Of a record, `marginal=os,browser` gives the table of these attributes instead of all
    combinations, each time it is given, and for two attributes whether they go together. Where
    reports tell of tables only, each attribute by itself is the default. `simplex` is then taken
    table by table.

    `set=a,b` gives the share of people whose value is one of these, each time it is given;
    `significant` says which labels somebody has at all; `liars=0.01` adds limits that hold whatever
    that share of reports made up. `warnings` are there if reports look made up.

    All of `projection` are biased and have no interval: `mle` is the likeliest distribution, `ems`
    the same smoothed, `top-down` shares out each node of a tree, `base-cut` keeps what is
    significant by Holm.

    Of a collection of texts these are the texts found, with intervals that hold together; with
    `candidate`, once for each, how often given texts occur.
    """
    found = service().registry.get(collection)
    refuse_releases_only(found)
    media_type = negotiated()
    told = estimated(found, query)
    return answer(told) if media_type == JSON else table_of(told, media_type)


def estimated(
    found: Collection, query: EstimatesArguments
) -> EstimatesDocument | EstimatesByEpochDocument:
    """What the address answers, also for pages; raises what it refuses."""
    if query.group_by == "epoch":
        return _estimated_by_epoch(found, query)
    return estimated_together(found, query)


def estimated_together(found: Collection, query: EstimatesArguments) -> EstimatesDocument:
    """All epochs as one."""
    checked = _checked(found, query)
    reading = pooled(service().store, found, checked.span)
    return _document(found, reading, query, checked, service().settings.relay_batch)


def _estimated_by_epoch(found: Collection, query: EstimatesArguments) -> EstimatesByEpochDocument:
    checked = _checked(found, query)
    readings, few = by_epoch(service().store, found, checked.span)
    documents = [
        _document(found, reading, query, checked, service().settings.relay_batch)
        for reading in readings
    ]
    return EstimatesByEpochDocument(documents, list(few))


class _Checked(NamedTuple):
    """Tables, sets, what is asked of numbers, and epochs."""

    axes: list[tuple[int, ...]]
    sets: list[tuple[int, ...]]
    asked: Asked
    span: Span


def _checked(found: Collection, query: EstimatesArguments) -> _Checked:
    """What is asked for, if it can be."""
    axes = tables_asked(found, query.marginal)
    check_candidates(found, query.candidate)
    sets, asked = sets_asked(found, query.sets), asked_of_numbers(found, query)
    _check_projection(found, query.projection, tables=bool(axes))
    span = moments_span(query.first, query.last, found.manifest.epoch_seconds)
    return _Checked(axes, sets, asked, span)


def plain(
    collection: Collection, reading: Reading, query: EstimatesArguments | None = None
) -> EstimatesDocument:
    """The answer about these reports when no tables, sets or numbers are asked for."""
    query = query or EstimatesArguments()
    checked = _Checked(
        tables_asked(collection, []), [], asked_of_numbers(collection, query), Span()
    )
    return _document(collection, reading, query, checked, relay_batch=0)


def _check_projection(collection: Collection, projection: str, *, tables: bool) -> None:
    accepted = accepted_projections(collection, tables=tables)
    if projection not in accepted:
        named = f"{', '.join(accepted[:-1])} or {accepted[-1]}"
        domain = collection.manifest.domain.type
        raise refuse("projection", accepted=f"{named} for {domain}", given=projection)


class _Holds(TypedDict, total=False):
    holds: list[HoldDocument]
    linkage: float


def _document(
    collection: Collection,
    reading: Reading,
    query: EstimatesArguments,
    checked: _Checked,
    relay_batch: int,
) -> EstimatesDocument:
    axes, sets, asked = checked.axes, checked.sets, checked.asked
    shown = shown_of(collection, reading, query, axes)
    estimate = shown.estimate
    projection = _projection(collection, reading, query.projection, shown)
    columns = zip(
        shown.labels or ("mean",),
        estimate.frequencies.tolist(),
        estimate.std_errors.tolist(),
        estimate.lower.tolist(),
        estimate.upper.tolist(),
        projection.values,
        [UNSET] * len(estimate.frequencies) if shown.reports is None else shown.reports,
        estimate.reports_to_leave.tolist(),
        estimate.devices_to_leave.tolist(),
        of_rows(estimate, query),
        strict=True,
    )
    return EstimatesDocument(
        collection=collection.id,
        mechanism=collection.mechanism.id,
        epsilon=format_epsilon(collection.mechanism.epsilon),
        repeat=collection.manifest.repeat,
        **_of_holds(collection.manifest, reading.epochs),
        n=reading.n,
        epochs=list(reading.epochs),
        provisional=reading.provisional,
        confidence=query.confidence,
        **of_numbers(collection, reading, query, asked),
        estimates=[_row(reading.n, *column) for column in columns] if shown.labels else [],
        associations=shown.associations if axes else UNSET,
        evidence=shown.evidence,
        sets=of_sets(collection, reading, query, sets),
        likelihood_short=projection.short,
        warnings=of_shape(collection, reading),
        trust=TrustDocument(_finite(influence_of(collection, estimate.influence))),
        shuffled=of_relay(collection, relay_batch, query.liars),
    )


def _projection(collection: Collection, reading: Reading, kind: str, shown: Shown) -> Presented:
    if kind == "none":
        return Presented([UNSET] * len(shown.estimate.frequencies))
    if kind in ("mle", "ems"):
        return presented(collection, reading, smooth=kind == "ems")
    return Presented(shown.projected("simplex" if kind == "top-down" else kind))


def shown_of(
    collection: Collection,
    reading: Reading,
    query: EstimatesArguments,
    axes: Sequence[tuple[int, ...]] = (),
) -> Shown:
    """The estimates of a reading with their labels."""
    if axes:
        return shown_tables(collection, reading, query, axes)
    if isinstance(collection.manifest.domain, Text):
        return shown_texts(collection, reading, query)
    estimate = collection.estimator.estimate(
        reading.tally,
        reading.n,
        confidence=query.confidence,
        epochs=len(reading.epochs),
        family=query.family,
    )
    told = collection.estimator.tells != "mean"
    return Shown((estimate,), collection.manifest.domain.labels if told else ())


def _row(
    n: int,
    label: str,
    frequency: float,
    std_error: float,
    lower: float,
    upper: float,
    projected: float | UnsetType,
    told_by: int | UnsetType,
    reports: int,
    devices: int,
    evidence: RowEvidence,
) -> LabelEstimate:
    return LabelEstimate(
        label=label,
        count=_finite(n * frequency),
        frequency=_finite(frequency),
        std_error=_finite(std_error),
        lower=_finite(lower),
        upper=_finite(upper),
        projected=projected if isinstance(projected, UnsetType) else _finite(projected),
        reports=told_by,
        reports_to_leave_interval=None if reports == UNREACHABLE else reports,
        devices_to_leave_interval=None if devices == UNREACHABLE else devices,
        **evidence,
    )


def _of_holds(manifest: Manifest, epochs: Sequence[int]) -> _Holds:
    """What a permanent answer implies: whose values these are, and how well devices hide."""
    if manifest.repeat != "memoized":
        return {}
    schedule = manifest.schedule
    spans = [schedule.hold_span(hold) for hold in sorted({*map(schedule.hold_at, epochs)})]
    holds = [HoldDocument(span[0], min(span[-1], manifest.last_epoch)) for span in spans]
    return {"holds": holds, "linkage": manifest.linkage}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def csv_of(told: EstimatesDocument | EstimatesByEpochDocument) -> Response:
    """The same as CSV, one row a label."""
    return table_of(told, CSV)


def table_of(told: EstimatesDocument | EstimatesByEpochDocument, kind: str) -> Response:
    """The same as a table of this media type, one row a label."""
    if isinstance(told, EstimatesByEpochDocument):
        first = told.epochs[:1]
        return as_table(kind, epoch_rows(told), (), about(*first) if first else {})
    return as_table(kind, label_rows(told), (), about(told))


def about(document: EstimatesDocument) -> dict[str, str]:
    """What a table of estimates is of, beside its rows."""
    names = ("collection", "mechanism", "epsilon", "repeat", "target")
    return {f"deniable.{name}": str(getattr(document, name)) for name in names}
