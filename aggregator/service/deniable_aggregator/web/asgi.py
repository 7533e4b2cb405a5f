"""ASGI entry point, which `deniable serve` starts. Answers uploads on the event loop.

    granian --interface asginl --factory deniable_aggregator.web.asgi:app

Importing this module opens nothing; calling `app` does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deniable_aggregator.web import wsgi

if TYPE_CHECKING:
    from deniable_gateway.upload.front import Front


@cache
def app() -> Front:
    """The one ASGI application of this process, from the environment (DENIABLE_DATA, …)."""
    application = wsgi.app()
    from deniable_aggregator.web.front import front_of

    return front_of(application)
