"""Everything deniable_shared raises.

* DeniableError
  x DecodeError       bytes or JSON that are not what they claim to be
  x DomainError       a value outside the collection's domain
  x EnvelopeError     a sealed report that does not open
  x ForkError         a log or a key list that does not continue the one known
  x ManifestError     a collection's definition that breaks a rule
  x ParameterError    a mechanism asked for something it cannot be
  x SignatureError    a signature that is missing, wrong, expired or by someone else
"""

from __future__ import annotations

__all__ = [
    "DecodeError",
    "DeniableError",
    "DomainError",
    "EnvelopeError",
    "ForkError",
    "ManifestError",
    "ParameterError",
    "SignatureError",
]


class DeniableError(Exception):
    """The root of the tree."""


class DecodeError(DeniableError, ValueError):
    """Bytes or JSON that are not what they claim to be."""


class DomainError(DeniableError, ValueError):
    """A value outside the collection's domain."""


class EnvelopeError(DeniableError):
    """A sealed report that does not open."""


class ForkError(DeniableError):
    """A log or a key list that does not continue the one known: rolled back, changed or forked."""


class ManifestError(DeniableError, ValueError):
    """A collection's definition that breaks a rule."""


class ParameterError(DeniableError, ValueError):
    """A mechanism asked for something it cannot be."""


class SignatureError(DeniableError):
    """A signature that is missing, wrong, expired or by someone else."""
