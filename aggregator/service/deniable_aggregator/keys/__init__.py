"""The service's keys: files on disk, lists signed and logged, states that only move forward."""

from __future__ import annotations

from deniable_aggregator.keys.directory import (
    DELEGATION_SECONDS,
    InitialisedDirectory,
    Keys,
    initialise,
    read_seed,
    read_trust,
    renew_delegation,
)

__all__ = [
    "DELEGATION_SECONDS",
    "InitialisedDirectory",
    "Keys",
    "initialise",
    "read_seed",
    "read_trust",
    "renew_delegation",
]
