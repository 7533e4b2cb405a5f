"""Addresses of views and of their files.

The query has only what is not usual. A file is the document that the API has of a chart, or its
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from flask import Response, url_for
from msgspec import UNSET, Meta
from msgspec.structs import fields

from deniable_aggregator.web.application import service

if TYPE_CHECKING:
    from deniable_aggregator.documents.fields import Arguments

Address = Callable[..., str]


def here(endpoint: str, query: Arguments, **path: str) -> Address:
    """A function that gives this page's address with some arguments changed."""
    current = {field.encode_name: getattr(query, field.name) for field in fields(query)}
    usual = {field.encode_name: _usual(field) for field in fields(query)}

    def address(changes: Mapping[str, object] | None = None, **named: object) -> str:
        wanted = {**current, **(changes or {}), **named}
        kept = {
            name: value
            for name, value in wanted.items()
            if value not in (UNSET, None, "", []) and value != usual.get(name)
        }
        return url_for(endpoint, **path, **kept)  # type: ignore[arg-type]  # one dict has values of many types

    return address


def _usual(field: object) -> object:
    factory = getattr(field, "default_factory", None)
    return factory() if callable(factory) else getattr(field, "default", None)


SIMULATED = "simulated-"

Format = Annotated[Literal["html", "json", "csv"], Meta(description="html, json or csv")]
"""A page's argument `format`."""


def download_links(address: Address, **also: str) -> Mapping[str, str]:
    """The names of the downloads of a chart, and their addresses."""
    return {kind.upper(): address(format=kind, **also) for kind in ("csv", "json")}


def as_attachment(response: Response, name: str) -> Response:
    """To be saved under this name, which must be of a-z, 0-9, hyphens and dots.

    A file of a demo says in its name that it is simulated.
    """
    if service().demo is not None:
        name = SIMULATED + name.removeprefix(SIMULATED)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
