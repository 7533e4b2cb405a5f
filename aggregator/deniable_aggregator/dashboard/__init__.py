"""Pages for people: what is asked, what comes in, what the estimates say and how sure they are."""

from __future__ import annotations

from flask import Flask

from deniable_aggregator.dashboard.serving import blueprint

__all__ = ["register"]


def register(app: Flask) -> None:
    """Give the application every page and what the pages load."""
    app.register_blueprint(blueprint())
