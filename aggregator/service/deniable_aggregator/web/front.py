"""Makes the ASGI application: uploads on the event loop, Flask on a few threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable_aggregator.web.flask_threads import FlaskThreads
from deniable_gateway.upload.front import Front

if TYPE_CHECKING:
    from flask import Flask

    from deniable_aggregator.operations.service import Service


def front_of(app: Flask) -> Front:
    """An ASGI application for the service of a Flask application."""
    service = cast("Service", app.extensions["deniable"])
    return Front(
        service.arrivals,
        FlaskThreads(app, count=service.metrics.count_request),
        gate=service.gate,
        web_origins=service.web_origins,
        watch=service.watch,
    )
