"""What the linter says of the answers themselves: what they cost, tell, hide and estimate."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniable_shared import mechanisms
from deniable_shared.domain import Bits
from deniable_shared.dyadic import exp_bounds, format_epsilon
from deniable_shared.finding import Finding, percent, root
from deniable_shared.manifest import Manifest
from deniable_shared.manifest_rules import MAX_LINKAGE
from deniable_shared.mechanisms.rr_sampled import best_sample

__all__ = ["accuracy", "choice_of_mechanism", "cost", "linkage", "presence", "strength"]

_SCALE = 1 << 64
_FEW, _MANY = 1_000, 100_000
_HIGH_EPSILON = 4
_LOW_BIT_EPSILON = Fraction(1, 4)
_SAMPLED = "rr-sampled/1"


def cost(manifest: Manifest) -> Iterator[Finding]:
    """When a device stops, and the least ceiling under which it gets there."""
    report, spends = format_epsilon(manifest.epsilon_report), manifest.schedule.spends
    once = ", the first in which it records" if manifest.repeat == "once" else ""
    yield Finding("note", "repeat", f"a device {manifest.answers}{once}")
    permanent = manifest.epsilon_permanent
    middle = f"epsilon_permanent {format_epsilon(permanent)}, " if permanent else ""
    yield Finding(
        "note",
        "epsilon",
        f"the least ceiling that lets it answer: epsilon_per_report {report}, {middle}"
        f"epsilon_lifetime {format_epsilon(spends)}",
    )
    if manifest.epsilon_lifetime > spends:
        lifetime = format_epsilon(manifest.epsilon_lifetime)
        yield Finding(
            "note",
            "epsilon.lifetime",
            f"all it is asked costs {format_epsilon(spends)}: {lifetime} is never spent",
        )


def strength(manifest: Manifest) -> Iterator[Finding]:
    """How much of the truth is told: of a memoized collection by the permanent answer."""
    path = "epsilon.permanent" if manifest.epsilon_permanent else "epsilon.report"
    epsilon = manifest.epsilon_permanent or manifest.epsilon_report
    truth = percent(Fraction(manifest.threshold, _SCALE))
    if epsilon > _HIGH_EPSILON:
        yield Finding("warning", path, f"above {_HIGH_EPSILON} little can be denied: {truth} true")
    if not isinstance(manifest.domain, Bits):
        return
    shared = min(manifest.domain.distance, _told(manifest))
    if manifest.epsilon_report / shared < _LOW_BIT_EPSILON:
        told = percent(manifest.mechanism().p)
        yield Finding(
            "warning",
            "domain.labels",
            f"ε is split over {shared} bits, so each is told truthfully with "
            f"only {told}: ask fewer, or say one-hot or at-most if that holds",
        )


def accuracy(manifest: Manifest) -> Iterator[Finding]:
    """What an estimate can show, by the number of reports or devices."""
    variance = _variance(manifest)
    few, many = (root(variance / n) for n in (_FEW, _MANY))
    needed = -(-variance * 10**4 // 1)
    yield Finding(
        "note",
        "epsilon.report",
        f"std_error of a frequency: {percent(few)} with {_FEW:,} reports, {percent(many)} with "
        f"{_MANY:,}; 1.00 % needs {needed:,} reports",
    )
    if manifest.epsilon_permanent:
        yield _over_a_hold(manifest, variance)
    if many * manifest.domain.size > 1 and not isinstance(manifest.domain, Bits):
        yield Finding(
            "warning",
            "domain.labels",
            f"even {_MANY:,} reports cannot tell {manifest.domain.size} labels apart: "
            "ask for fewer, or raise epsilon",
        )
    if root(variance / manifest.min_batch) > Fraction(1, 2):
        error = percent(root(variance / manifest.min_batch))
        yield Finding(
            "warning", "min_batch", f"{manifest.min_batch} reports have a std_error of {error}"
        )


def _over_a_hold(manifest: Manifest, variance: Fraction) -> Finding:
    """PROTOCOL §7: V_∞ + (V_1 − V_∞)/T, where V_∞ is that of the permanent answers themselves."""
    kept = _variance(manifest, permanent=True)
    epochs = min(manifest.hold_epochs, manifest.schedule.epochs)
    whole = root((kept + (variance - kept) / epochs) / _FEW)
    return Finding(
        "note",
        "hold_epochs",
        f"{_FEW:,} devices that answer all through a hold: std_error {percent(whole)}, and never "
        f"below {percent(root(kept / _FEW))}; estimates speak of the hold's start",
    )


def choice_of_mechanism(manifest: Manifest) -> Iterator[Finding]:
    """Whether another mechanism needs fewer reports, and how many bits one tells."""
    if manifest.mechanism_id == _SAMPLED:
        yield Finding(
            "note",
            "mechanism.parameters",
            f"a report tells {_told(manifest)} of {manifest.domain.size} bits, which ones is open",
        )
    if manifest.mechanism_id == "rr/1" and isinstance(manifest.domain, Bits):
        yield from _sampling_instead(manifest, manifest.domain)
    if manifest.mechanism_id != "grr/1":
        return
    e, _ = exp_bounds(manifest.epsilon_report, bits=64)
    size = manifest.domain.size
    if size > 3 * e + 2:
        times = _tenths((size - 2 + e) / (4 * e))
        yield Finding(
            "warning",
            "mechanism.id",
            f"for {size} labels grr/1 needs about {times} times the reports "
            "of the best mechanism known, which this version does not have",
        )


def _sampling_instead(manifest: Manifest, domain: Bits) -> Iterator[Finding]:
    epsilon = manifest.epsilon_report
    if domain.size == 1:
        return
    told = best_sample(domain.size, epsilon, domain.distance)
    once = mechanisms.for_domain(_SAMPLED, domain, epsilon, parameters={"sampled": told})
    other = _sampled_variance(domain.size, told, once.p)
    times = _variance(manifest) / other
    if times >= Fraction(5, 4):
        yield Finding(
            "note",
            "mechanism.id",
            f"rr/1 needs about {_tenths(times)} times the reports of {_SAMPLED}, which tells "
            f"{told} of the {domain.size} bits",
        )


def linkage(manifest: Manifest) -> Iterator[Finding]:
    """How well reports of one device are recognised as such."""
    if manifest.epsilon_permanent:
        yield Finding(
            "note",
            "linkable",
            f"two reports of one permanent answer share {manifest.linkage:.2f} bits: "
            "the second round hides the answer, not the device",
        )
    if manifest.linkable and manifest.linkage <= MAX_LINKAGE:
        yield Finding("note", "linkable", f"true is not needed at {manifest.linkage:.2f} bits")


def presence(manifest: Manifest) -> Iterator[Finding]:
    """Who answers at all."""
    if manifest.presence == "always":
        yield Finding(
            "note",
            "presence",
            "every device that consents answers, with the default if nothing was recorded: "
            "estimates count those, too",
        )
    if manifest.sampling < 1:
        yield Finding(
            "note",
            "sampling",
            f"{percent(manifest.sampling)} of the devices are asked; ε is that of those who are",
        )


def _told(manifest: Manifest) -> int:
    """Bits in one report."""
    sampled = manifest.parameters.get("sampled")
    return sampled if isinstance(sampled, int) else manifest.domain.size


def _variance(manifest: Manifest, *, permanent: bool = False) -> Fraction:
    """n·Var of a frequency by one report, or by the permanent answers behind it.

    Near 0 for grr/1; of any frequency for rr/1; at ½, where it is largest, for rr-sampled/1.
    """
    p, q = manifest.mechanism().p, manifest.mechanism().q
    if permanent:
        others = 1 if isinstance(manifest.domain, Bits) else manifest.domain.size - 1
        p = Fraction(manifest.threshold, _SCALE)
        q = (1 - p) / others
    if manifest.mechanism_id == _SAMPLED:
        return _sampled_variance(manifest.domain.size, _told(manifest), p)
    return q * (1 - q) / (p - q) ** 2


def _sampled_variance(size: int, told: int, p: Fraction) -> Fraction:
    return Fraction(size, told) * (p * (1 - p) / (2 * p - 1) ** 2 + Fraction(1, 4))


def _tenths(number: Fraction) -> str:
    tenths = round(10 * number)
    return f"{tenths // 10}.{tenths % 10}"
