"""A Flask app that a person runs for themselves, with honest telemetry about that installation.

    flask --app flask_app run

The person is the one who runs it, so /telemetry belongs behind their sign-in. A public website is a
different case: a client on the server counts the server once, and its visitors not at all.
`app.deniable` lies in this folder: `deniable collections export --app > app.deniable`.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, abort, redirect, request

from deniable_client import Ceiling, Client
from deniable_client.inspection_page import HEADERS, press, render

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
FILE = Path(__file__).with_name("app.deniable")


def create_app(client: Client | None = None) -> Flask:
    """The app; tests give it a client of `deniable_client.testing`."""
    app = Flask(__name__)
    telemetry = client or Client.from_file(FILE, app="notes", ceiling=CEILING)
    token = secrets.token_urlsafe()  # of this process; several share one over the configuration

    @app.post("/settings")
    def save() -> dict[str, str]:
        dark = "dark_mode" in request.form
        telemetry.record("settings", {"dark_mode": dark, "beta": False})
        return {"saved": "yes"}

    @app.get("/telemetry")
    def page() -> tuple[str, dict[str, str]]:
        text = render(telemetry, title="What notes reports", action="/telemetry", token=token)
        return text, dict(HEADERS)

    @app.post("/telemetry")
    def decide() -> Response:
        if not press(telemetry, request.get_data(), token=token):
            abort(403)
        return redirect("/telemetry", 303)

    @app.get("/health")
    def health() -> dict[str, object]:
        return {"telemetry": telemetry.health().to_json()}

    return app
