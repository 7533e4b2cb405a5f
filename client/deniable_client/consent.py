"""The person's decision: unknown until the app asks, then granted or denied."""

from __future__ import annotations

from enum import StrEnum

from deniable_client.errors import ConfigurationError

__all__ = ["Consent", "parse_consent"]


class Consent(StrEnum):
    """Only GRANTED records and sends. Only DENIED deletes."""

    UNKNOWN = "unknown"
    GRANTED = "granted"
    DENIED = "denied"


def parse_consent(answer: str) -> Consent:
    """Return the decision in `answer`.

    Raises ConfigurationError if it is neither granted nor denied.
    """
    if answer not in (Consent.GRANTED, Consent.DENIED):
        raise ConfigurationError(f'consent must be "granted" or "denied", got {answer!r}')
    return Consent(answer)
