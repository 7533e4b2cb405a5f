"""Pages for people: so far the list of collections. No script, no cookie, nothing foreign."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response, render_template, send_from_directory

from deniable_aggregator.api.collections import summary
from deniable_aggregator.api.operations import HTML, operation, service

__all__ = ["blueprint"]

blueprint = Blueprint("dashboard", __name__, template_folder="templates")

STATIC = Path(__file__).parent / "static"
STATIC_SECONDS = 3_600


@blueprint.get("/")
@operation(tag="pages", query=None, answers={200: {HTML: ()}})
def index() -> Response:
    """The collections, as a page."""
    listed = [summary(found) for found in service().registry.all()]
    page = render_template("collections.html", collections=listed, trust=service().keys.trust)
    return Response(page, content_type=f"{HTML}; charset=utf-8")


@blueprint.get("/static/<path:filename>")
def static(filename: str) -> Response:
    """A file of the pages, always whole: no ranges, no validators that tell visitors apart."""
    return send_from_directory(
        STATIC, filename, conditional=False, etag=False, max_age=STATIC_SECONDS
    )
