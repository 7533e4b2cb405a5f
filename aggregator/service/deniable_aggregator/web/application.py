"""Access to the service of the current application, and JSON answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import msgspec
from flask import Response, current_app

if TYPE_CHECKING:
    from deniable_aggregator.operations.service import Service

JSON = "application/json"
DSSE = "application/vnd.dsse.envelope+json"
CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


Answers = Mapping[int, Mapping[str, tuple[type[msgspec.Struct], ...]]]
"""Status → media type → the Structs of its documents; none for other formats than our JSON."""


def service() -> Service:
    """The service behind the current application."""
    return cast("Service", current_app.extensions["deniable"])


def answer(document: msgspec.Struct, status: int = 200) -> Response:
    """A Struct as JSON; NaN and infinity become null."""
    return Response(msgspec.json.encode(document), status=status, content_type=JSON)
