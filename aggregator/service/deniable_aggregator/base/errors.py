"""Exceptions of deniable_aggregator besides `Problem` (a refused request); all are DeniableErrors.

`deniable_gateway.errors` has the others: of settings, directories, spools and missing extras.

* AggregatorError
  x KeyFileError          a key file is missing, readable by others or broken
  x ScaleError            workers of a tally died, or its engine is not installed
  * SignInError           a provider did not identify a person as the standard requires
    x ProviderUnavailableError   the provider cannot be reached now
  * StoreError            the database refuses, or has another schema version
    x StoreReplacedError      the file was removed or replaced while it was open
    x DamagedError            stored data differs from what was written
    x StoreUnavailableError   the database cannot serve now
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class AggregatorError(DeniableError):
    """The root of the exceptions of this package."""


class KeyFileError(AggregatorError):
    """A key file is missing, readable by others or broken."""


class ScaleError(AggregatorError):
    """Workers of a tally died, or its engine is not installed."""


class SignInError(AggregatorError):
    """A provider did not identify a person as the standard requires."""


class ProviderUnavailableError(SignInError):
    """The provider cannot be reached now. Retry after `retry_after_seconds`."""

    def __init__(self, message: str, *, retry_after_seconds: float = 60.0) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StoreError(AggregatorError):
    """The database refuses, or has another schema version."""


class StoreReplacedError(StoreError):
    """The database's file was removed or replaced while it was open."""


class DamagedError(StoreError):
    """Stored counts or an entry differ from their checksum, or are impossible.

    `what` names the damaged data in words; `epoch` is None if it belongs to no epoch.
    """

    def __init__(self, collection: str, epoch: int | None = None, what: str = "counts") -> None:
        super().__init__(
            f"the database has damaged {what} of {collection}: "
            "restore a backup with `deniable store restore`"
        )
        self.collection = collection
        self.epoch = epoch
        self.what = what


class StoreUnavailableError(StoreError):
    """The database does not answer or cannot serve now. A later attempt may succeed."""
