"""An ordinary manifest, and the same with any field changed."""

from __future__ import annotations

from collections.abc import Mapping

from deniable_shared.manifest.fields import collection_id, identity_of, nest
from deniable_shared.manifest.model import Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire.canonical import canonical_json
from support.builders.manifest_text import manifest_of

INGEST = ("https://telemetry.example.org",)

SETTINGS = """\
name = "settings"
purpose = "Which settings do people turn on?"
owner = "privacy@example.org"
epsilon = "1"
valid_from = 2026-12-01
expires = 2027-06-01
[domain]
type = "bits"
labels = ["dark_mode", "beta"]
"""


SAMPLED = """\
mechanism = "rr-sampled/1"
sampled = 1
"""


def settings(text: str = SETTINGS, previous: Manifest | None = None) -> Manifest:
    """The manifest of PROTOCOL.md's example, or of another text."""
    return manifest_of(text, ingest=INGEST, previous=previous)


def memoized(text: str = "") -> Manifest:
    """The same question, asked again and again: two holds of 91 days."""
    return settings('repeat = "memoized"\n' + text + SETTINGS)


def fresh(text: str = "") -> Manifest:
    """The same question, answered again on the first ten days."""
    return settings('repeat = "fresh"\n' + text + SETTINGS)


def body_with(
    changes: Mapping[str, object],
    *,
    of: Manifest | None = None,
    without: tuple[str, ...] = (),
    honest: bool = True,
) -> bytes:
    """The example with values changed by path; an honest one has the id that follows, too."""
    values = dict((of or settings()).values) | dict(changes)
    for path in without:
        del values[path]
    if honest:
        values["collection"] = collection_id(str(values["name"]), identity_of(values))
    return canonical_json(nest(values))


def manifest_with(changes: Mapping[str, object], *, of: Manifest | None = None) -> Manifest:
    """The example, or another one, with values changed by path."""
    return parse_manifest(body_with(changes, of=of))


def next_version(
    old: Manifest, changes: Mapping[str, object], *, without: tuple[str, ...] = ()
) -> Manifest:
    """The version after `old`, honest in all but what `changes` says and what is left out."""
    chain = {"version": old.version + 1, "previous": old.digest.hex()}
    values = dict(old.values) | chain | dict(changes)
    for path in without:
        del values[path]
    values.setdefault("collection", old.collection)
    if "collection" not in changes:
        values["collection"] = collection_id(str(values["name"]), identity_of(values))
    return parse_manifest(canonical_json(nest(values)))
