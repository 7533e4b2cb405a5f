"""What a charge that stands for a forgotten one has in place of a request's digest."""

from __future__ import annotations

from hashlib import sha256

from deniable_aggregator.store.contract import ChargeRow

__all__ = ["is_substitute", "request_of"]


def request_of(release: str) -> bytes:
    """A digest that no request has: what is asked again is charged again."""
    return sha256(b"deniable/1 reconciled " + release.encode()).digest()


def is_substitute(row: ChargeRow) -> bool:
    """Whether this charge stands for one that a database had forgotten."""
    return row.request == request_of(row.release)
