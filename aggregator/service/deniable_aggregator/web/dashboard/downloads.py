"""What a chart shows, to be kept as a file: the document the API has of it, or its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from flask import Response
from msgspec import Meta

from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard.addresses import Address

SIMULATED = "simulated-"

Format = Annotated[Literal["html", "json", "csv"], Meta(description="html, json or csv")]
"""A page's argument `format`."""


def download_links(address: Address, **also: str) -> Mapping[str, str]:
    """What stands beside a chart, and where it leads."""
    return {kind.upper(): address(format=kind, **also) for kind in ("csv", "json")}


def as_attachment(response: Response, name: str) -> Response:
    """To be saved under this name, which must be of a-z, 0-9, hyphens and dots.

    A file of a demo says in its name that it is simulated.
    """
    if service().demo is not None:
        name = SIMULATED + name.removeprefix(SIMULATED)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
