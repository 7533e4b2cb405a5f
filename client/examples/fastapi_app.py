"""A FastAPI app that a person runs for themselves, with honest telemetry about that installation.

    uvicorn --factory fastapi_app:create_app

The person is the one who runs it, so /telemetry belongs behind their sign-in. A public website is a
different case: a client on the server counts the server once, and its visitors not at all.
`app.deniable` lies in this folder: `deniable collections export --app > app.deniable`.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from deniable_client import Ceiling, Client
from deniable_client.inspection_page import HEADERS, press, render

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
FILE = Path(__file__).with_name("app.deniable")


def create_app(client: Client | None = None) -> FastAPI:
    """The app; tests give it a client of `deniable_client.testing`."""
    app = FastAPI()
    telemetry = client or Client.from_file(FILE, app="notes", ceiling=CEILING)
    token = secrets.token_urlsafe()  # of this process; several share one over the configuration

    @app.post("/settings")
    async def save(dark_mode: bool = False) -> dict[str, bool]:
        telemetry.record("settings", {"dark_mode": dark_mode, "beta": False})
        return {"dark_mode": dark_mode}

    @app.get("/telemetry")
    def page() -> HTMLResponse:  # not async: the page reads the state file
        text = render(telemetry, title="What notes reports", action="/telemetry", token=token)
        return HTMLResponse(text, headers=dict(HEADERS))

    @app.post("/telemetry")
    async def decide(request: Request) -> RedirectResponse:
        form = await request.body()
        if not await run_in_threadpool(press, telemetry, form, token=token):
            raise HTTPException(403)
        return RedirectResponse("/telemetry", 303)

    @app.get("/health")
    def health() -> dict[str, object]:
        return {"telemetry": telemetry.health().to_json()}

    return app
