"""Limits behind the same server: a Flask view that only reads the body, and bare ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from flask import Flask, request

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def flask() -> Flask:
    """A view that reads the body and answers nothing."""
    app = Flask(__name__)

    @app.post("/v1/collections/<name>/reports")
    def upload(name: str) -> tuple[str, int]:
        request.get_data()
        return "", 200

    return app


def bare() -> Asgi:
    """The same without a framework, on the event loop."""
    return _bare


async def _bare(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    await receive()
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
