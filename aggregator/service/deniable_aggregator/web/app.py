"""Makes the Flask application: the API, the pages and, for WSGI servers, the uploads."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, Response, g, request

from deniable_aggregator.operations.service import Service
from deniable_aggregator.web import api, dashboard, uploads
from deniable_aggregator.web.api.operations import MAX_JSON_BYTES
from deniable_aggregator.web.auth import guard, oidc, shared, signin
from deniable_aggregator.web.cross_origin_pages import CrossOriginPages

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.metrics import Metrics
    from deniable_aggregator.store.protocols import Store
    from deniable_shared.manifest.epochs import Clock

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
        "microphone=(), payment=(), usb=()"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def create_app(
    settings: Settings | Service, *, clock: Clock = time.time, store: Store | None = None
) -> Flask:
    """A WSGI application of one service, which is `app.extensions["deniable"]`.

    The caller closes a Service that it gives; one opened here lives as long as the application.
    Pages use sessions, the API uses bearer tokens. Neither has a CORS header; see
    `CrossOriginPages`.
    """
    if not isinstance(settings, Service):
        settings = Service.open(settings, clock=clock, store=store)
    app = Flask("deniable_aggregator", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_JSON_BYTES
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.extensions["deniable"] = settings
    uploads.register(app)
    api.register(app)
    guard.register(app)
    dashboard.register(app)
    for blueprint in (signin.blueprint, oidc.blueprint, shared.blueprint):
        app.register_blueprint(blueprint)
    app.after_request(_with_security_headers)
    app.after_request(partial(_count_request, settings.metrics))
    if settings.demo is not None:
        app.after_request(_with_simulated_header)
    app.wsgi_app = CrossOriginPages(app.wsgi_app, settings.web_origins)  # type: ignore[method-assign]  # as Flask documents it
    return app


def _with_security_headers(response: Response) -> Response:
    response.headers.update(SECURITY_HEADERS if "own_headers" not in g else g.own_headers)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _with_simulated_header(response: Response) -> Response:
    """Add a header to every answer of a demo, in any format."""
    response.headers["Deniable-Simulated"] = "true"
    return response


def _count_request(metrics: Metrics, response: Response) -> Response:
    """Count by the name of the operation: a path may hold any text."""
    operation = g.get("operation")
    if operation != uploads.ENDPOINT or request.method != "POST":
        metrics.count_request(operation, response.status_code)
    return response
