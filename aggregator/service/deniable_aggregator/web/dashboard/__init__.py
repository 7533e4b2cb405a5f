"""Pages for people: what is asked, what comes in, what the estimates say and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.web.dashboard.routes import blueprint, not_found_page

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["register"]


def register(app: Flask) -> None:
    """Give the application every page, what the pages load, and one for addresses of nothing."""
    app.register_blueprint(blueprint())
    app.register_error_handler(404, not_found_page)
