"""What the linter says of collections that only central releases may read."""

from __future__ import annotations

from collections.abc import Iterator

from deniable_aggregator.collections.authoring.lint_findings import Finding
from deniable_shared import mechanisms
from deniable_shared.manifest.model import Manifest

__all__ = ["releases"]


def releases(manifest: Manifest) -> Iterator[Finding]:
    """Whether there is anything to be read, and what is not hidden."""
    if manifest.read == "releases":
        yield from _unread(manifest)
        yield from _public(manifest)


def _public(manifest: Manifest) -> Iterator[Finding]:
    """A release protects what was answered, not how many answered."""
    needed = f"{manifest.min_batch:,} report{'' if manifest.min_batch == 1 else 's'}"
    yield Finding(
        "note",
        "min_batch",
        f"a release reads only epochs with at least {needed} each: smaller ones are left out",
    )
    if manifest.presence == "on_event":
        yield Finding(
            "note",
            "presence",
            "releases hide what was answered, not who answered, and show how many reports each "
            f"epoch with at least {needed} has: if answering at all says something, use "
            'presence = "always"',
        )


def _unread(manifest: Manifest) -> Iterator[Finding]:
    mechanism = manifest.mechanism()
    if mechanism.releasable and mechanism.structure is not None:
        return
    read = mechanisms.releasable_ids()
    able = [each for each in mechanisms.ids_for_domain_type(manifest.domain.type) if each in read]
    able = [each for each in able if each != mechanism.id]
    cure = f"name {' or '.join(able)}, or " if able else ""
    yield Finding(
        "warning",
        "read",
        f"no release reads {manifest.mechanism_id}, and releases are all that may be read: {cure}"
        'say read = "closed"',
    )
