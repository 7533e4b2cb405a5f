"""Extras of estimates: significance, sets, likelihood, limits under fake reports, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from msgspec import UNSET, UnsetType

from deniable_aggregator.documents.estimates import SetDocument, WarningDocument
from deniable_aggregator.queries.numbers import finite
from deniable_estimators.inference.anomalies import Anomaly, find_anomalies
from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.inference.likelihood import fit
from deniable_estimators.inference.message_laws import counts_messages, maximum_likelihood
from deniable_estimators.inference.protocols import DistributionEstimator
from deniable_estimators.inference.set_laws import checked_set, estimate_label_set
from deniable_gateway.problem import SHOWN_CHARACTERS, Problem, refuse
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.queries.pooled_tallies import PooledTally
    from deniable_estimators.inference.debias import Estimate

_MEANING = (
    "At most one honest estimate in a million shows this, for any answers of people: reports are "
    "fake, or come from a program that does not follow the mechanism."
)


class RowEvidence(TypedDict, total=False):
    """The further fields of a label's row."""

    significant: bool
    lower_under_lies: float
    upper_under_lies: float
    liars_to_zero: float


@dataclass(frozen=True, slots=True)
class Projection:
    """Projected frequencies, and how far the likelihood may be below its maximum."""

    values: Sequence[float]
    short: float | UnsetType = UNSET


def accepted_projections(collection: Collection, *, tables: bool) -> tuple[str, ...]:
    """The projections that fit the domain and the tally."""
    estimator = collection.estimator
    accepted = ["none", "simplex" if tables else estimator.default_projection]
    if estimator.estimand == "labels" and not tables:
        accepted += ["mle"] if counts_messages(estimator) else []
        accepted += ["base-cut"]
    if isinstance(estimator, DistributionEstimator):
        accepted += ["mle", "ems"]
    if isinstance(estimator, HierarchyEstimator):
        accepted += ["top-down"]
    return tuple(accepted)


def likelihood_projection(
    collection: Collection, reports: PooledTally, *, smooth: bool
) -> Projection:
    """The most likely distribution, or its smoothed form."""
    estimator = collection.estimator
    if isinstance(estimator, DistributionEstimator):
        if smooth:
            return Projection(estimator.fitted(reports.tally, reports.n, smooth=True).tolist())
        maximum = fit(estimator.law, reports.tally)
    else:
        maximum = maximum_likelihood(estimator, reports.tally)
    return Projection(maximum.distribution.tolist(), maximum.short)


def row_evidence(estimate: Estimate, question: EstimatesArguments) -> list[RowEvidence]:
    """The evidence for each label. Raises invalid-argument if these estimates have none."""
    rows = [RowEvidence() for _ in estimate.frequencies]
    if not isinstance(question.significant, UnsetType):
        for row, held in zip(rows, _significant(estimate, question.significant), strict=True):
            row["significant"] = held
    if not isinstance(question.liars, UnsetType):
        for row, limits in zip(rows, _under_lies(estimate, question.liars), strict=True):
            row["lower_under_lies"], row["upper_under_lies"], row["liars_to_zero"] = limits
    return rows


def _significant(estimate: Estimate, method: str) -> list[bool]:
    try:
        flags: list[bool] = estimate.significant(method).tolist()
    except ParameterError as error:
        raise _refused(
            error, "significant", "left out: these estimates are not shares of labels", method
        ) from (error)
    return flags


def _under_lies(estimate: Estimate, liars: float) -> list[tuple[float, float, float]]:
    try:
        lower, upper = estimate.under_lies(liars)
        zero = estimate.liars_to_zero()
    except ParameterError as error:
        raise _refused(error, "liars", "left out for sums of labels", liars) from error
    return list(zip(lower.tolist(), upper.tolist(), zero.tolist(), strict=True))


def label_sets(collection: Collection, sets: Sequence[str]) -> list[tuple[int, ...]]:
    """The indices of the labels of each set. Raises invalid-argument."""
    if not sets:
        return []
    places = {label: place for place, label in enumerate(collection.manifest.domain.labels)}
    places_of_sets = []
    for names in sets:
        labels = [names] if names in places else [name.strip() for name in names.split(",")]
        for label in labels:
            if label not in places:
                raise refuse("set", accepted="labels of the collection, with commas", given=label)
        members = tuple(places[label] for label in labels)
        try:
            checked_set(collection.mechanism, members)
        except ParameterError as error:
            accepted = "different labels of a choice, but not all of them"
            raise _refused(error, "set", accepted, names) from error
        places_of_sets.append(members)
    return places_of_sets


def set_documents(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    sets: Sequence[tuple[int, ...]],
) -> list[SetDocument] | UnsetType:
    """The estimate of each set; with family "all" their intervals hold together."""
    if not sets:
        return UNSET
    return [_set_document(collection, reports, question, members, len(sets)) for members in sets]


def _set_document(
    collection: Collection,
    reports: PooledTally,
    question: EstimatesArguments,
    members: tuple[int, ...],
    sets: int,
) -> SetDocument:
    estimate = estimate_label_set(
        collection.estimator,
        collection.mechanism,
        reports.tally,
        reports.n,
        members,
        confidence=question.confidence,
        epochs=len(reports.epochs),
        family=question.family,
        sets=sets,
    )
    labels = collection.manifest.domain.labels
    return SetDocument(
        labels=[labels[place] for place in members],
        count=finite(reports.n * estimate.frequency),
        frequency=finite(estimate.frequency),
        std_error=finite(estimate.std_error),
        lower=estimate.lower,
        upper=estimate.upper,
    )


def anomaly_warnings(
    collection: Collection, reports: PooledTally
) -> list[WarningDocument] | UnsetType:
    """Warnings that reports do not look honest; empty if nothing is unusual."""
    anomalies = find_anomalies(
        collection.estimator,
        collection.mechanism,
        reports.tally,
        reports.n,
        epochs=len(reports.epochs),
    )
    return [_warning(anomaly) for anomaly in anomalies] or UNSET


def _warning(anomaly: Anomaly) -> WarningDocument:
    return WarningDocument(
        kind=anomaly.kind, seen=anomaly.seen, expected=anomaly.expected, meaning=_MEANING
    )


def _refused(error: ParameterError, argument: str, accepted: str, given: object) -> Problem:
    return Problem(
        "invalid-argument",
        str(error),
        argument=argument,
        accepted=accepted,
        given=str(given)[:SHOWN_CHARACTERS],
    )
