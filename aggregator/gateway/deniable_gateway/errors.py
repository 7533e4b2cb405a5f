"""All errors that deniable_gateway raises, besides `Problem` for a refused request.

They are a branch of DeniableError:

* GatewayError
  x DataDirectoryError     a directory that is not prepared, or cannot be locked
  x ExtraError             a library of an extra that is not installed
  x ListenError            a port that cannot be listened on
  x LockedError            another process uses this directory
  x QueueError             the relay's file cannot be used
  x SettingsError          an option that is unknown or out of range
  x SpoolError             a file of the spool that is damaged or no block
  x SpoolUnavailableError  the place of the spool does not answer, or refuses
  x UpstreamError          the aggregator does not answer, or answers something else
"""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class GatewayError(DeniableError):
    """The root of the tree."""


class DataDirectoryError(GatewayError):
    """A directory that is not prepared, was prepared before, or cannot be locked."""


class ExtraError(GatewayError):
    """A library of an extra that is not installed."""


class ListenError(GatewayError):
    """A port that cannot be listened on."""


class LockedError(GatewayError):
    """Another process uses this directory."""


class QueueError(GatewayError):
    """The relay's file cannot be used."""


class SettingsError(GatewayError, ValueError):
    """A setting or an option that is unknown or out of range."""


class SpoolError(GatewayError, ValueError):
    """A file of the spool that is damaged or no block."""


class SpoolUnavailableError(GatewayError):
    """The place of the spool does not answer, or refuses. This says nothing about any file."""


class UpstreamError(GatewayError):
    """The aggregator does not answer, or answers something else."""
