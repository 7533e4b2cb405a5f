"""The HTTP API: one blueprint a topic, one Struct a document, one statement an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.web import errors
from deniable_aggregator.web.api import (
    audit,
    collections,
    comparison,
    epochs,
    estimates,
    health,
    keys,
    ledger,
    log,
    metrics,
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
    """Give the application every endpoint of the API and its error documents."""
    errors.register(app)
    topics = (
        *(audit, collections, comparison, epochs, estimates, health, keys),
        *(ledger, log, metrics, openapi, releases),
        *(series, tokens, users, vouchers),
    )
    for topic in topics:
        app.register_blueprint(topic.blueprint)
