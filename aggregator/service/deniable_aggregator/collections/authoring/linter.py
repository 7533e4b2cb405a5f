"""What a careful colleague would say about a manifest before it is signed. Integers only."""

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


def lint(manifest: Manifest, *, now: float) -> list[Finding]:
    """All remarks, errors first."""
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
            "is 365 days before expires, as if by default: write it down, for it is part of the id "
            "and must not move when expires does",
        )


def _texts(manifest: Manifest, _now: float) -> Iterator[Finding]:
    if is_placeholder(manifest.purpose):
        yield Finding(
            "error",
            "purpose",
            f"{manifest.purpose!r} is a placeholder, and people read it: "
            "say in a sentence what is asked and what for",
        )
    elif len(manifest.purpose) < _SHORT_PURPOSE or " " not in manifest.purpose:
        yield Finding("warning", "purpose", "say in a sentence what is asked and what for")
    if "@" not in manifest.owner and "://" not in manifest.owner:
        yield Finding("warning", "owner", "name an address people can write to")
    if "example." in manifest.owner:
        yield Finding("warning", "owner", f"{manifest.owner} is an example: nobody reads it")


def _reach(manifest: Manifest, _now: float) -> Iterator[Finding]:
    if all(map(is_loopback, manifest.ingest)):
        yield Finding("warning", "ingest", "only this machine can upload: every origin is loopback")
    if manifest.read == "live":
        yield Finding(
            "note",
            "read",
            "live: every reader has the local ε and nothing better; min_batch protects nobody",
        )


def _releases(manifest: Manifest) -> Iterator[Finding]:
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
