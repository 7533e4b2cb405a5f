"""Addresses of views: what is asked for stands in the query, and only where it is not usual."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import url_for
from msgspec import UNSET
from msgspec.structs import fields

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
