"""Checks a manifest for likely mistakes before it is signed. Uses only integers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring import lint_answers
from deniable_aggregator.collections.authoring.lint_findings import LEVELS, Finding
from deniable_aggregator.collections.authoring.templates import is_placeholder
from deniable_shared import mechanisms
from deniable_shared.manifest.epochs import day_start
from deniable_shared.manifest.ingest_origins import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_shared.manifest.model import Manifest

_DAY = 86_400
_SHORT_PURPOSE = 12
_WITHDRAWN = "A later version may withdraw that, but copies stay public"
_WEB = (
    "anyone who controls the script of these pages can read answers before they are randomized; a "
    "browser that deletes its storage is a new person; reports leave during the visit"
)
_WEB_ALWAYS = (
    "always: browsers refuse this collection, because a page cannot answer without a visit; use "
    "on_event, or leave web_origins out"
)
_PUBLIC = (
    f"anyone may read closed periods with at least min_batch reports. {_WITHDRAWN}",
    f"anyone may read the releases. {_WITHDRAWN}",
)


def lint(manifest: Manifest, *, now: float) -> list[Finding]:
    """All findings, errors first."""
    findings = [finding for check in _ANSWERS for finding in check(manifest)]
    findings += [finding for check in _CIRCUMSTANCES for finding in check(manifest, now)]
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def _dates(manifest: Manifest, now: float) -> Iterator[Finding]:
    left = day_start(manifest.expires) - now
    if left <= 0:
        yield Finding("error", "expires", f"expired on {manifest.expires}: no device answers")
    elif left < 30 * _DAY:
        yield Finding("warning", "expires", f"expires within 30 days, on {manifest.expires}")
    if not manifest.started(now):
        yield Finding("note", "valid_from", f"no device answers before {manifest.valid_from}")
    if manifest.expires - manifest.valid_from == timedelta(days=365):
        yield Finding(
            "warning",
            "valid_from",
            "is 365 days before expires, as by default: write it down: it is part of the id "
            "and must not move when expires does",
        )


def _texts(manifest: Manifest, _now: float) -> Iterator[Finding]:
    if is_placeholder(manifest.purpose):
        yield Finding(
            "error",
            "purpose",
            f"{manifest.purpose!r} is a placeholder, and people read it: "
            "say in a sentence what you ask and why",
            "Write the question, and why you ask it. People read this before they answer",
        )
    elif len(manifest.purpose) < _SHORT_PURPOSE or " " not in manifest.purpose:
        short = "Write a whole sentence: what you ask, and why"
        yield Finding("warning", "purpose", "say in a sentence what you ask and why", short)
    if "@" not in manifest.owner and "://" not in manifest.owner:
        yield Finding("warning", "owner", "name an address people can write to")
    if "example." in manifest.owner:
        yield Finding(
            "warning",
            "owner",
            f"{manifest.owner} is an example: no one reads it",
            f"Replace {manifest.owner}: it is an example, and no one reads it",
        )


def _reach(manifest: Manifest, _now: float) -> Iterator[Finding]:
    if all(map(is_loopback, manifest.ingest)):
        yield Finding(
            "warning",
            "ingest",
            "only this machine can upload: every origin is loopback",
            "Only apps on this machine can send reports: the file has an address of this machine",
        )
    if manifest.read == "live":
        yield Finding(
            "note",
            "read",
            "live: readers see a period while it runs, as soon as there are min_batch reports. To "
            'show closed periods only, use read = "closed"',
            f"Readers see a day while it is not over, as soon as there are {manifest.min_batch:,} "
            "reports. To show finished days only, choose “closed days”",
        )
    if manifest.web_origins:
        yield from _pages(manifest)
    if manifest.public:
        yield Finding("note", "public", _PUBLIC[manifest.read == "releases"])


def _pages(manifest: Manifest) -> Iterator[Finding]:
    """Findings on collections that browsers answer: what is weaker there."""
    yield Finding("note", "web_origins", _WEB)
    if manifest.presence == "always":
        yield Finding("warning", "presence", _WEB_ALWAYS)


def _releases(manifest: Manifest) -> Iterator[Finding]:
    """Findings on releases: whether there are any, and what they do not hide."""
    if manifest.read == "releases":
        yield from _unread(manifest)
        yield from _public(manifest)


def _public(manifest: Manifest) -> Iterator[Finding]:
    """Findings on public results: a release protects answers, not the number of reports."""
    needed = f"{manifest.min_batch:,} report{'' if manifest.min_batch == 1 else 's'}"
    yield Finding(
        "note",
        "min_batch",
        f"a release reads only epochs with at least {needed} each: smaller ones are left out",
        f"A release reads only days with at least {needed}",
    )
    if manifest.presence == "on_event":
        yield Finding(
            "note",
            "presence",
            "releases hide the answers, not who answered, and show how many reports each "
            f"epoch with at least {needed} has: if answering at all reveals something, use "
            'presence = "always"',
            "Releases hide what people answered, but show how many answered on each day. If "
            'answering at all reveals something, write `presence = "always"` in the file',
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
        f"no release reads {manifest.mechanism_id}, but only releases may be read: {cure}"
        'use read = "closed"',
        f"Releases cannot read {manifest.mechanism_id}: choose “closed days”",
    )


_ANSWERS: tuple[Callable[[Manifest], Iterator[Finding]], ...] = (
    lint_answers.cost,
    lint_answers.strength,
    lint_answers.accuracy,
    lint_answers.choice_of_mechanism,
    _releases,
    lint_answers.linkage,
    lint_answers.presence,
    lint_answers.identity,
)
_CIRCUMSTANCES: tuple[Callable[[Manifest, float], Iterator[Finding]], ...] = (
    _dates,
    _texts,
    _reach,
)
