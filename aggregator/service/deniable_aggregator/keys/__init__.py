"""The service's keys: files, signed and logged key lists, and states that only move forward."""

from __future__ import annotations

from deniable_aggregator.keys.directory import (
    DELEGATION_SECONDS,
    InitialisedDirectory,
    initialise,
    renew_delegation,
)
from deniable_aggregator.keys.files import read_seed, read_trust
from deniable_aggregator.keys.keyring import Keys

__all__ = [
    "DELEGATION_SECONDS",
    "InitialisedDirectory",
    "Keys",
    "initialise",
    "read_seed",
    "read_trust",
    "renew_delegation",
]
