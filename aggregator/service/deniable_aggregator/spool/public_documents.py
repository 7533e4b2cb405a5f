"""The public documents of the service by their API paths, for the notices of a spool.

It needs no HTTP, because the consumer of a spool serves no requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec

from deniable_aggregator.queries.collections import collections
from deniable_aggregator.queries.transparency_log import log
from deniable_gateway.errors import SpoolError

if TYPE_CHECKING:
    from deniable_aggregator.operations.service import Service

_COLLECTIONS = "/v1/collections"


@dataclass(frozen=True, slots=True)
class PublicDocuments:
    """The documents that a mirror fetches, byte for byte as the API answers them."""

    service: Service

    def get(self, path: str) -> bytes:
        """The body of a GET. Raises SpoolError for a path that no mirror fetches."""
        parts = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/v1/keys":
            return self.service.keys.key_list()
        if parts.path == "/v1/log":
            return msgspec.json.encode(log(self.service.store, int(query["from"])))
        if parts.path == _COLLECTIONS:
            listed = self.service.registry.listed(archived=query.get("archived") == "true")
            return msgspec.json.encode(collections(listed))
        name = parts.path.removeprefix(f"{_COLLECTIONS}/").removesuffix("/manifest")
        if parts.path != f"{_COLLECTIONS}/{name}/manifest":
            raise SpoolError(f"a spool has no copy of {path}")
        version = int(query["version"]) if "version" in query else None
        return self.service.registry.envelope(name, version)
