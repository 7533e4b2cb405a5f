"""The application of `deniable serve`, with a chosen time limit for bodies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deniable_aggregator.ingest import endpoint
from deniable_aggregator.web import wsgi

if TYPE_CHECKING:
    from flask import Flask


def app() -> Flask:
    """What granian calls in the child process."""
    vars(endpoint)["BODY_SECONDS"] = int(os.environ["TEST_BODY_SECONDS"])
    return wsgi.app()
