"""Randomizes answers on the device and uploads deniable reports."""

from __future__ import annotations

from deniable_client.budget import Budget
from deniable_client.ceiling import Ceiling
from deniable_client.client import Client
from deniable_client.consent import Consent
from deniable_client.errors import (
    ClientError,
    ClosedError,
    ConfigurationError,
    HaltedError,
    LogForkedError,
    RefusedError,
    RejectedError,
    StorageError,
    TransportError,
)
from deniable_client.outcome import FlushResult, Outcome, RefreshResult
from deniable_client.transport import HttpTransport, Reply, Transport

__all__ = [
    "Budget",
    "Ceiling",
    "Client",
    "ClientError",
    "ClosedError",
    "ConfigurationError",
    "Consent",
    "FlushResult",
    "HaltedError",
    "HttpTransport",
    "LogForkedError",
    "Outcome",
    "RefreshResult",
    "RefusedError",
    "RejectedError",
    "Reply",
    "StorageError",
    "Transport",
    "TransportError",
]
