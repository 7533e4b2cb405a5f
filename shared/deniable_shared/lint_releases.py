"""What the linter says of collections that only central releases may read."""

from __future__ import annotations

from collections.abc import Iterator

from deniable_shared import mechanisms
from deniable_shared.finding import Finding
from deniable_shared.manifest import Manifest
from deniable_shared.released import RELEASED

__all__ = ["releases"]


def releases(manifest: Manifest) -> Iterator[Finding]:
    """Whether there is anything to be read."""
    if manifest.read != "releases" or manifest.mechanism_id in RELEASED:
        return
    able = [id for id in mechanisms.for_type(manifest.domain.type) if id in RELEASED]
    cure = f"name {' or '.join(able)}, or " if able else ""
    yield Finding(
        "warning",
        "read",
        f"no release reads {manifest.mechanism_id}, and releases are all that may be read: {cure}"
        'say read = "closed"',
    )
