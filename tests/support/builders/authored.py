"""Manifests from TOML, by the author's tools."""

from __future__ import annotations

from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_shared.manifest.model import Manifest
from support.builders.manifests import INGEST, SETTINGS

__all__ = ["authored", "fresh", "memoized"]


def authored(text: str = SETTINGS, previous: Manifest | None = None) -> Manifest:
    """The manifest of PROTOCOL.md's example, or of another text; bits get rr/1 unless it says."""
    plain = 'type = "bits"' in text and "mechanism = " not in text
    return manifest_from_toml(
        'mechanism = "rr/1"\n' * plain + text, ingest=INGEST, previous=previous
    )


def memoized(text: str = "") -> Manifest:
    """The same question, asked again and again: two holds of 91 days."""
    return authored('repeat = "memoized"\n' + text + SETTINGS)


def fresh(text: str = "") -> Manifest:
    """The same question, answered again on the first ten days."""
    return authored('repeat = "fresh"\n' + text + SETTINGS)
