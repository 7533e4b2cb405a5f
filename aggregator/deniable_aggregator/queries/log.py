"""The transparency log over manifests, key lists and releases."""

from __future__ import annotations

from deniable_aggregator.documents.collections import LogDocument
from deniable_aggregator.store.protocols import Collections

__all__ = ["log"]


def log(store: Collections, first: int) -> LogDocument:
    """Its size and head, and at most 1,000 entries from index `first` on."""
    size, head = store.log_head()
    # What was appended since is left to the next page: the head speaks of the first `size`.
    entries = store.log(first)[: max(0, size - first)]
    return LogDocument(
        size=size, head=head, entries=[[each.type, each.body_hash.hex()] for each in entries]
    )
