"""Public documents of collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.documents.collections import CollectionDocument, CollectionsDocument
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.collections.registry import Collection


def collections(listed: Iterable[Collection]) -> CollectionsDocument:
    """The document of each collection, from its newest manifest."""
    return CollectionsDocument([collection(each) for each in listed])


def collection(entry: Collection) -> CollectionDocument:
    """The document of one collection."""
    newest = entry.manifest
    return msgspec.convert(
        {
            "collection": entry.id,
            "name": newest.name,
            "purpose": newest.purpose,
            "owner": newest.owner,
            "version": newest.version,
            "state": entry.state,
            "archived": entry.archived,
            "mechanism": newest.mechanism_id,
            "epsilon": format_epsilon(newest.epsilon_report),
            "repeat": newest.repeat,
            "read": newest.read,
            "requires": newest.requires,
            "identified": newest.identified,
            "epoch_seconds": newest.epoch_seconds,
            "valid_from": newest.valid_from.isoformat(),
            "expires": newest.expires.isoformat(),
            "domain": newest.domain.to_json(),
        },
        CollectionDocument,
    )
