"""What a relay adds to the privacy of a collection's reports, for the document of estimates."""

from __future__ import annotations

from dataclasses import asdict

import msgspec
from msgspec import UNSET, UnsetType

from deniable_aggregator.collections.planning.anonymity import LIARS, shuffle_anonymity
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.documents.estimates import AnonymityDocument


def relay_anonymity(
    collection: Collection, batch: int, liars: float | UnsetType
) -> AnonymityDocument | UnsetType:
    """UNSET where reports are taken from anybody (`batch` 0) or say whose they are (vouchers)."""
    if not batch or collection.first.identified:
        return UNSET
    anonymity = shuffle_anonymity(
        collection.mechanism,
        batch=batch,
        liars=LIARS if isinstance(liars, UnsetType) else liars,
        repeat=collection.manifest.repeat,
        lifetime=collection.first.epsilon_lifetime,
    )
    return msgspec.convert(asdict(anonymity), AnonymityDocument)
