"""What a careful colleague would say about a manifest before it is signed. Integers only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from math import isqrt
from typing import Literal

from deniable_shared.domain import Bits
from deniable_shared.dyadic import exp_bounds, format_epsilon
from deniable_shared.epochs import day_start
from deniable_shared.manifest import Manifest
from deniable_shared.origins import is_loopback

__all__ = ["Finding", "Level", "lint"]

Level = Literal["error", "warning", "note"]

_LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_DAY = 86_400
_MICRO = 10**6
_FEW, _MANY = 1_000, 100_000
_HIGH_EPSILON = 4
_LOW_BIT_EPSILON = Fraction(1, 4)
_SHORT_PURPOSE = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: an error makes the collection useless, a warning asks to think again."""

    level: Level
    field: str
    message: str


def lint(manifest: Manifest, *, now: float) -> list[Finding]:
    """All remarks, errors first."""
    findings = [found for check in _CHECKS for found in check(manifest, now)]
    return sorted(findings, key=lambda found: _LEVELS.index(found.level))


def _devices(manifest: Manifest, now: float) -> Iterator[Finding]:
    report = format_epsilon(manifest.epsilon_report)
    yield Finding("note", "repeat", "a device answers 1 epoch, the first in which it records")
    yield Finding(
        "note",
        "epsilon",
        f"the least ceiling that lets it answer: epsilon_per_report {report}, "
        f"epsilon_lifetime {report}",
    )
    if manifest.epsilon_lifetime > manifest.epsilon_report:
        lifetime = format_epsilon(manifest.epsilon_lifetime)
        yield Finding(
            "note", "epsilon.lifetime", f"one report costs {report}: {lifetime} is never spent"
        )


def _strength(manifest: Manifest, now: float) -> Iterator[Finding]:
    truth = _percent(manifest.mechanism().p)
    if manifest.epsilon_report > _HIGH_EPSILON:
        yield Finding(
            "warning", "epsilon.report", f"above {_HIGH_EPSILON} little can be denied: {truth} true"
        )
    if not isinstance(manifest.domain, Bits):
        return
    each = manifest.epsilon_report / manifest.domain.distance
    if each < _LOW_BIT_EPSILON:
        yield Finding(
            "warning",
            "domain.labels",
            f"ε is split over {manifest.domain.distance} bits, so each is told truthfully with "
            f"only {truth}: ask fewer, or say one-hot or at-most if that holds",
        )


def _accuracy(manifest: Manifest, now: float) -> Iterator[Finding]:
    variance = _variance(manifest)
    few, many = (_root(variance / n) for n in (_FEW, _MANY))
    needed = -(-variance * 10**4 // 1)
    yield Finding(
        "note",
        "epsilon.report",
        f"std_error of a frequency: {_percent(few)} with {_FEW:,} reports, {_percent(many)} with "
        f"{_MANY:,}; 1.00 % needs {needed:,} reports",
    )
    if many * manifest.domain.size > 1 and not isinstance(manifest.domain, Bits):
        yield Finding(
            "warning",
            "domain.labels",
            f"even {_MANY:,} reports cannot tell {manifest.domain.size} labels apart: "
            "ask for fewer, or raise epsilon",
        )
    if _root(variance / manifest.min_batch) > Fraction(1, 2):
        error = _percent(_root(variance / manifest.min_batch))
        yield Finding(
            "warning", "min_batch", f"{manifest.min_batch} reports have a std_error of {error}"
        )


def _mechanism(manifest: Manifest, now: float) -> Iterator[Finding]:
    if manifest.mechanism_id != "grr/1":
        return
    e, _ = exp_bounds(manifest.epsilon_report, bits=64)
    size = manifest.domain.size
    if size > 3 * e + 2:
        tenths = round(10 * (size - 2 + e) / (4 * e))
        yield Finding(
            "warning",
            "mechanism.id",
            f"for {size} labels grr/1 needs about {tenths // 10}.{tenths % 10} times the reports "
            "of the best mechanism known, which this version does not have",
        )


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


def _texts(manifest: Manifest, now: float) -> Iterator[Finding]:
    if len(manifest.purpose) < _SHORT_PURPOSE or " " not in manifest.purpose:
        yield Finding("warning", "purpose", "say in a sentence what is asked and what for")
    if "@" not in manifest.owner and "://" not in manifest.owner:
        yield Finding("warning", "owner", "name an address people can write to")
    if "example." in manifest.owner:
        yield Finding("warning", "owner", f"{manifest.owner} is an example: nobody reads it")


def _reach(manifest: Manifest, now: float) -> Iterator[Finding]:
    if all(map(is_loopback, manifest.ingest)):
        yield Finding("warning", "ingest", "only this machine can upload: every origin is loopback")
    if manifest.read == "live":
        yield Finding(
            "note",
            "read",
            "live: every reader has the local ε and nothing better; min_batch protects nobody",
        )


def _variance(manifest: Manifest) -> Fraction:
    """n·Var of a frequency near 0: q(1 − q)/(p − q)²; for rr/1 of any frequency."""
    mechanism = manifest.mechanism()
    p, q = mechanism.p, mechanism.q
    return q * (1 - q) / (p - q) ** 2


def _root(value: Fraction) -> Fraction:
    """Square root, rounded down to millionths."""
    return Fraction(isqrt(value.numerator * _MICRO**2 // value.denominator), _MICRO)


def _percent(share: Fraction) -> str:
    hundredths = round(share * 10**4)
    return f"{hundredths // 100}.{hundredths % 100:02d} %"


_CHECKS: tuple[Callable[[Manifest, float], Iterator[Finding]], ...] = (
    _devices,
    _strength,
    _accuracy,
    _mechanism,
    _dates,
    _texts,
    _reach,
)
