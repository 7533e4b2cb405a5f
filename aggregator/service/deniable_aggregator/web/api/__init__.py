"""The HTTP API: one blueprint for each topic, one Struct for each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.web import errors
from deniable_aggregator.web.api import (
    alerts,
    audit,
    collections,
    comparison,
    epochs,
    estimates,
    health,
    keys,
    ledger,
    links,
    log,
    metrics,
    notes,
    openapi,
    releases,
    series,
    tokens,
    users,
    vouchers,
)

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["register"]


def register(app: Flask) -> None:
    """Add every endpoint of the API, and its error documents, to the application."""
    errors.register(app)
    topics = (
        *(alerts, audit, collections, comparison, epochs, estimates, health, keys),
        *(ledger, links, log, metrics, notes, openapi, releases),
        *(series, tokens, users, vouchers),
    )
    for topic in topics:
        app.register_blueprint(topic.blueprint)
