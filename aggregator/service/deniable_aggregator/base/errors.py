"""What deniable_aggregator raises besides `Problem` (a refused request); a branch of DeniableError.

`deniable_gateway.errors` has the others: of settings, directories, spools and missing extras.

* AggregatorError
  x KeyFileError          a key file that is missing, open to others or not what it claims to be
  x ScaleError            workers of a tally that died, or an engine that is not here
  * SignInError           a provider that does not say, as it must, who somebody is
    x ProviderUnavailableError   it cannot be reached now: later it may
  * StoreError            the database refuses, or is of another version
    x StoreReplacedError      its file was removed or replaced while it was open
    x DamagedError            what is stored is not what was written
    x StoreUnavailableError   it does not answer, or cannot serve now: later it may
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class AggregatorError(DeniableError):
    """The root of the tree."""


class KeyFileError(AggregatorError):
    """A key file that is missing, open to others or not what it claims to be."""


class ScaleError(AggregatorError):
    """Workers of a tally that died, or an engine that is not here."""


class SignInError(AggregatorError):
    """A provider that does not say, as it must, who somebody is."""


class ProviderUnavailableError(SignInError):
    """The provider cannot be reached now; worth trying again after `retry_after_seconds`."""

    def __init__(self, message: str, *, retry_after_seconds: float = 60.0) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StoreError(AggregatorError):
    """The database refuses, or is of another version."""


class StoreReplacedError(StoreError):
    """The database's file was removed or replaced while it was open."""


class DamagedError(StoreError):
    """Stored counts, or an entry, that differ from their checksum or cannot be right.

    `epoch` is None where what is damaged belongs to no epoch; `what` names it in words.
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
    """The database does not answer, or cannot serve now: later it may."""
