"""Which mechanisms central releases read."""

from __future__ import annotations

__all__ = ["RELEASED"]

RELEASED = frozenset(
    {
        "affine/1",
        "cyclic/1",
        "grr/1",
        "hadamard/1",
        "oue/1",
        "projective/1",
        "rr-sampled/1",
        "rr/1",
        "subset/1",
        "sue/1",
    }
)
"""The mechanisms that releases read: those whose reports support labels or do not."""
