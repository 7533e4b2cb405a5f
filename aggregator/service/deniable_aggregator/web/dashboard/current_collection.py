"""Which collection a page is about, if the visitor may see it."""

from __future__ import annotations

from deniable_aggregator.collections.registry import Collection, UnknownCollection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity


def collection_of(name: str) -> Collection:
    """The collection of an id or a name; UnknownCollection, too, for one that is not theirs."""
    collection = service().registry.get(name)
    visitor = current_identity()
    if visitor is not None and not visitor.may_see(collection.id):
        raise UnknownCollection(f"no collection {name[:100]!r} is among those you may see")
    return collection


def visitor_may(role: str) -> bool:
    """Whether the visitor's role covers `role`."""
    visitor = current_identity()
    return visitor is not None and visitor.may(role)
