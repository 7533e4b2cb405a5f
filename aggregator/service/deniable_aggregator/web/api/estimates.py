"""Debiased estimates as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import EstimatesByEpochDocument, EstimatesDocument
from deniable_aggregator.queries import estimates as queries
from deniable_aggregator.queries.notes import estimates_with_notes
from deniable_aggregator.queries.pooled_tallies import refuse_releases_only
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import estimates_as, negotiate, tables

blueprint = Blueprint("estimates", __name__)


@blueprint.get("/v1/collections/<collection>/estimates")
@operation(
    tag="analysts",
    role="viewer",
    query=EstimatesArguments,
    answers=tables(EstimatesDocument, EstimatesByEpochDocument),
    problems=("unknown-collection", "read-refused", "too-few-reports", "not-acceptable"),
    span="estimate",
)
def estimates(collection: str, query: EstimatesArguments) -> Response:
    """Debiased frequencies with standard errors and intervals. They may lie outside [0, 1].

    `from` and `to` are inclusive. A date means all epochs that start on that UTC day; unix
    milliseconds mean the epoch that contains them. With `group_by=epoch` there is one document for
    each epoch. CSV, Arrow and Parquet have one row for each label.

    Numbers have a mean and quantiles, in the units of the domain, if the mechanism allows them.
    `quantile=0.5` selects this quantile instead of the usual five. `range=10..20` adds the share of
    people between two values, both included. Both may be repeated. With `family=all` the intervals
    of all quantiles hold together, and so do those of all ranges; that of the mean holds by itself.

    If one device may have reported in several epochs, errors and intervals hold for any assignment
    of reports to devices. A memoized collection estimates the values at the start of its `holds`.

    For a record, `marginal=os,browser` gives the table of these attributes instead of all
    combinations, and for two attributes a test of their relation; it may be repeated. If reports
    contain only tables, the default is each attribute by itself. `simplex` then applies to each
    table.

    `set=a,b` gives the share of people whose value is one of these; it may be repeated.
    `significant` marks the labels that at least one person has. `liars=0.01` adds limits that hold
    for any fake reports up to that share. `warnings` appear if reports look fake.

    All values of `projection` are biased and have no interval. `mle` is the most likely
    distribution, `ems` the same smoothed. `top-down` splits each node of a tree. `base-cut` keeps
    labels that are significant by Holm.

    For texts the answer lists the common texts, with intervals that hold together. With
    `candidate`, which may be repeated, it estimates how often given texts occur.
    """
    running = service()
    target = running.registry.get(collection)
    refuse_releases_only(target)
    media_type = negotiate()
    batch = running.settings.relay_batch
    document = queries.answer(running.store, target, query, relay_batch=batch)
    return estimates_as(media_type, estimates_with_notes(running.store, target, document))
