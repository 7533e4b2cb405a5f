"""What a careful colleague would say about a manifest before it is signed. Integers only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from deniable_aggregator.collections.authoring import lint_answers, lint_releases
from deniable_aggregator.collections.authoring.lint_findings import LEVELS, Finding, Level
from deniable_aggregator.collections.authoring.placeholders import is_placeholder
from deniable_shared.manifest.epochs import day_start
from deniable_shared.manifest.ingest_origins import is_loopback
from deniable_shared.manifest.model import Manifest

__all__ = ["Finding", "Level", "lint"]

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


_ANSWERS: tuple[Callable[[Manifest], Iterator[Finding]], ...] = (
    lint_answers.cost,
    lint_answers.strength,
    lint_answers.accuracy,
    lint_answers.choice_of_mechanism,
    lint_releases.releases,
    lint_answers.linkage,
    lint_answers.presence,
    lint_answers.identity,
)
_CIRCUMSTANCES: tuple[Callable[[Manifest, float], Iterator[Finding]], ...] = (
    _dates,
    _texts,
    _reach,
)
