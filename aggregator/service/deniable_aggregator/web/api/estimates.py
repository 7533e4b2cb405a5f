"""Debiased estimates as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.documents.estimates import EstimatesByEpochDocument, EstimatesDocument
from deniable_aggregator.queries import estimates as queries
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
    running = service()
    target = running.registry.get(collection)
    refuse_releases_only(target)
    media_type = negotiate()
    batch = running.settings.relay_batch
    document = queries.answer(running.store, target, query, relay_batch=batch)
    return estimates_as(media_type, document)
