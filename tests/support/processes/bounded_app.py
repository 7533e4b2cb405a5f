"""The application of `deniable serve`, with a chosen time limit for bodies and room for few.

A network may hold a quarter of the uploads, as in the product.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deniable_aggregator.web import asgi
from deniable_gateway.upload import front

if TYPE_CHECKING:
    from deniable_gateway.upload.front import Front


def app() -> Front:
    """What granian calls in the child process."""
    uploads = int(os.environ["TEST_UPLOADS"])
    bounds = front.Bounds(
        body_seconds=float(os.environ["TEST_BODY_SECONDS"]),
        uploads=uploads,
        uploads_of_network=uploads // 4,
    )
    vars(front)["Bounds"] = lambda: bounds
    return asgi.app()
