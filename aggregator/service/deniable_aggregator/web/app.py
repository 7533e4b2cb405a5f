"""The application: Flask for the API and the pages, the upload endpoint in front of it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, Response, request

from deniable_aggregator.ingest import Observers
from deniable_aggregator.ingest.endpoint import UploadEndpoint
from deniable_aggregator.operations.service import Service
from deniable_aggregator.web import api, dashboard
from deniable_aggregator.web.api.operations import MAX_JSON_BYTES
from deniable_aggregator.web.auth import guard, oidc, signin
from deniable_gateway.problem import Problem
from deniable_shared.manifest.epochs import Clock

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.operations.metrics import Metrics
    from deniable_aggregator.store.protocols import Store

UPLOAD_RULE = "/v1/collections/<collection>/reports"

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
    """A WSGI application over one service, which `app.extensions["deniable"]` holds.

    `app.extensions["deniable_body_guard"]` cuts slow bodies off when it is told to look.

    A given Service stays the caller's to close; one opened here lives as long as the application.
    Pages have sessions, the API bearer tokens; neither has a CORS header.
    """
    if not isinstance(settings, Service):
        settings = Service.open(settings, clock=clock, store=store)
    app = Flask("deniable_aggregator", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_JSON_BYTES
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.extensions["deniable"] = settings
    api.register(app)
    guard.register(app)
    dashboard.register(app)
    for blueprint in (signin.blueprint, oidc.blueprint):
        app.register_blueprint(blueprint)
    app.after_request(_with_security_headers)
    app.after_request(partial(_count_request, settings.metrics))
    if settings.demo is not None:
        app.after_request(_with_simulated_header)
    uploads = upload_endpoint(settings, app.wsgi_app)
    app.extensions["deniable_body_guard"] = uploads.body_guard
    _put_in_front(uploads, app)
    return app


def upload_endpoint(service: Service, application: WSGIApplication) -> UploadEndpoint:
    """Uploads to `service` in front of `application`."""
    return UploadEndpoint(
        application,
        service.settings,
        ingest=service.ingest,
        tokens=service.tokens,
        suspension=service.suspension,
        observers=Observers(service.metrics, service.tracer),
    )


def _put_in_front(uploads: UploadEndpoint, app: Flask) -> None:
    """Uploads go past Flask; its rule is there to answer other methods with 405."""
    app.add_url_rule(UPLOAD_RULE, "upload", _never_reached, methods=["POST"])
    app.wsgi_app = uploads  # type: ignore[method-assign]  # Flask says so: the way to wrap an application


def _never_reached(**_parts: str) -> Response:
    """An upload that reaches Flask has an address that the upload endpoint did not recognize."""
    raise Problem("not-found", "uploads go to /v1/collections/{id}/reports, spelled like that")


def _with_security_headers(response: Response) -> Response:
    response.headers.update(SECURITY_HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _with_simulated_header(response: Response) -> Response:
    """Every answer of a demo says what it is, whatever its format."""
    response.headers["Deniable-Simulated"] = "true"
    return response


def _count_request(metrics: Metrics, response: Response) -> Response:
    """By the name of the operation: a path may hold any text a client sends."""
    metrics.count_request(request.endpoint, response.status_code)
    return response
