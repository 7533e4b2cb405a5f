"""All errors that deniable_shared raises.

* DeniableError
  x DecodeError       bytes or JSON in a wrong form
  x DomainError       a value outside the collection's domain
  x EnvelopeError     a sealed report that cannot be opened
  x ForkError         a log or a key list that does not continue the known one
  x ManifestError     a collection's definition that breaks a rule
  x ParameterError    a parameter of a mechanism that is out of range
  x SignatureError    a signature that is missing, wrong, expired or by an untrusted key
"""

from __future__ import annotations


class DeniableError(Exception):
    """The root of the tree."""


class DecodeError(DeniableError, ValueError):
    """Bytes or JSON in a wrong form."""


class DomainError(DeniableError, ValueError):
    """A value outside the collection's domain."""


class EnvelopeError(DeniableError):
    """A sealed report that cannot be opened."""


class ForkError(DeniableError):
    """A log or a key list that does not continue the known one: rolled back, changed or forked."""


class ManifestError(DeniableError, ValueError):
    """A collection's definition that breaks a rule."""


class ParameterError(DeniableError, ValueError):
    """A parameter of a mechanism that is out of range."""


class SignatureError(DeniableError):
    """A signature that is missing, wrong, expired or by an untrusted key."""
