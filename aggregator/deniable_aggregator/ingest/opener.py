"""Opening one report: what it is bound to, the key that fits, the frame inside."""

from __future__ import annotations

from deniable_shared.envelope import Opener
from deniable_shared.errors import DecodeError
from deniable_shared.manifest import Manifest
from deniable_shared.report import Plaintext, Report, seal_info

__all__ = ["decoded", "open_report"]


def open_report(report: Report, opener: Opener, manifest: Manifest, *, size: int) -> Plaintext:
    """The plaintext, which must be `size` bytes long, as all reports of a collection are.

    EnvelopeError if it does not open under this manifest and header, DecodeError for its inside.
    """
    info = seal_info(manifest.collection, manifest.digest, report.header)
    return decoded(opener.open(report.sealed, info=info), size=size)


def decoded(opened: bytes, *, size: int) -> Plaintext:
    """The frame inside; DecodeError for one of another size or shape."""
    if len(opened) != size:
        raise DecodeError(f"a plaintext of this collection has {size} bytes, got {len(opened)}")
    return Plaintext.decode(opened)
