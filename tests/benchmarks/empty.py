"""Limits behind the same server: a Flask view that only reads the body, and bare WSGI."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, request

Wsgi = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]


def flask() -> Flask:
    """A view that reads the body and answers nothing."""
    app = Flask(__name__)

    @app.post("/v1/collections/<name>/reports")
    def upload(name: str) -> tuple[str, int]:
        request.get_data()
        return "", 200

    return app


def bare() -> Wsgi:
    """The same without a framework."""
    return _bare


def _bare(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Length", "0")])
    return [b""]
