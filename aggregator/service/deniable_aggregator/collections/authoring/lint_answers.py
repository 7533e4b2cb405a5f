"""What the linter says of the answers themselves: what they cost, tell, hide and estimate."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.collections.authoring.lint_domains import (
    choice_for_record,
    levels_of,
    range_variance,
)
from deniable_aggregator.collections.authoring.lint_findings import Finding, percent, square_root
from deniable_aggregator.collections.authoring.recommendation import (
    mechanism_error,
    recommend_for_domain,
)
from deniable_aggregator.collections.authoring.record_recommendation import two_way_error
from deniable_shared.domains import Bits, Record, Text
from deniable_shared.errors import ParameterError
from deniable_shared.manifest.rules import MAX_LINKAGE
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.structure import SampledBits
from deniable_shared.randomness.dyadic import SCALE, format_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared import mechanisms
    from deniable_shared.manifest.model import Manifest
    from deniable_shared.mechanisms.protocols import Memoizable

_FEW, _MANY = 1_000, 100_000
_HIGH_EPSILON = 4
_COUNTABLE = 40  # bits: more devices than there are
_LOW_BIT_EPSILON = Fraction(1, 4)
_WORTH_A_NOTE, _WORTH_A_WARNING = Fraction(5, 4), 2


def cost(manifest: Manifest) -> Iterator[Finding]:
    """When a device stops, and the least ceiling under which it gets there."""
    report, spends = format_epsilon(manifest.epsilon_report), manifest.schedule.lifetime_cost
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
    truth = percent(Fraction(manifest.threshold, SCALE))
    if epsilon > _HIGH_EPSILON:
        yield Finding("warning", path, f"above {_HIGH_EPSILON} little can be denied: {truth} true")
    if not isinstance(manifest.domain, Bits):
        return
    shared = min(manifest.domain.distance, _bits_per_report(manifest))
    if manifest.epsilon_report / shared < _LOW_BIT_EPSILON:
        truth_share = percent(manifest.mechanism().p)
        yield Finding(
            "warning",
            "domain.labels",
            f"ε is split over {shared} bits, so each is told truthfully with "
            f"only {truth_share}: ask fewer, or say one-hot or at-most if that holds",
        )


def accuracy(manifest: Manifest) -> Iterator[Finding]:
    """What an estimate can show, by the number of reports or devices."""
    variance, of = _variance_of(manifest, manifest.mechanism())
    few, many = (square_root(variance / n) for n in (_FEW, _MANY))
    needed = -(-variance * 10**4 // 1)
    yield Finding(
        "note",
        "epsilon.report",
        f"std_error of {of}: {percent(few)} with {_FEW:,} reports, {percent(many)} with "
        f"{_MANY:,}; 1.00 % needs {needed:,} reports",
    )
    if isinstance(mechanism := manifest.mechanism(), MemoizedChain):
        kept, _ = _variance_of(manifest, mechanism.first)
        yield _over_a_hold(manifest, variance, kept)
    single = not isinstance(manifest.domain, Bits | Record | Text) and of == "a frequency"
    if single and many * manifest.domain.size > 1:
        yield Finding(
            "warning",
            "domain.labels",
            f"even {_MANY:,} reports cannot tell {manifest.domain.size} labels apart: "
            "ask for fewer, or raise epsilon",
        )
    if square_root(variance / manifest.min_batch) > Fraction(1, 2):
        error = percent(square_root(variance / manifest.min_batch))
        yield Finding(
            "warning", "min_batch", f"{manifest.min_batch} reports have a std_error of {error}"
        )


def _over_a_hold(manifest: Manifest, variance: Fraction, kept: Fraction) -> Finding:
    """PROTOCOL §7: V_∞ + (V_1 − V_∞)/T, where V_∞ is that of the permanent answers themselves."""
    epochs = min(manifest.hold_epochs, manifest.schedule.epochs)
    whole = square_root((kept + (variance - kept) / epochs) / _FEW)
    return Finding(
        "note",
        "hold_epochs",
        f"{_FEW:,} devices that answer all through a hold: std_error {percent(whole)}, and never "
        f"below {percent(square_root(kept / _FEW))}; estimates speak of the hold's start",
    )


def choice_of_mechanism(manifest: Manifest) -> Iterator[Finding]:
    """Whether another mechanism needs fewer reports, and how much one tells."""
    if isinstance(manifest.domain, Record):
        yield from choice_for_record(manifest, manifest.domain)
        return
    if isinstance(manifest.domain, Text):
        yield _search(manifest.mechanism())
        return
    if range_variance(manifest.mechanism()) is not None:
        yield from levels_of(manifest.mechanism(), manifest.epsilon_report)
        return
    if manifest.mechanism().sampling_fraction < 1:
        yield Finding(
            "note",
            "mechanism.parameters",
            f"a report tells {_bits_per_report(manifest)} of {manifest.domain.size} "
            f"{'bits' if isinstance(manifest.domain, Bits) else 'buckets'}, which ones is open",
        )
    best = recommend_for_domain(
        manifest.domain,
        manifest.epsilon_report,
        permanent=manifest.epsilon_permanent,
        linkable=True,
    ).mechanism
    structure = manifest.mechanism().structure
    shares = isinstance(structure, SampledBits) and structure.exclusive
    if manifest.mechanism().domain_types < best.domain_types and not shares:
        return  # a mean and a frequency have no error in common
    times = mechanism_error(manifest.mechanism()) / mechanism_error(best)
    if best.id == manifest.mechanism_id or times < _WORTH_A_NOTE:
        return
    share = f", which tells {_bits_of(best)} of the {best.domain_size} bits"
    yield Finding(
        "note" if isinstance(manifest.domain, Bits) or times < _WORTH_A_WARNING else "warning",
        "mechanism.id",
        f"{manifest.mechanism_id} needs about {_tenths(times)} times the reports of {best.id}"
        f"{share if best.sampling_fraction < 1 else ''}",
    )


def _search(mechanism: mechanisms.Mechanism) -> Finding:
    """How reports are shared out between the search for texts and their frequencies."""
    fraction = percent(mechanism.sampling_fraction)
    share = f"{fraction} of the reports are held out for the frequencies of those"
    no_search = "no text is searched for: only lists given later are counted, by every report"
    return Finding(
        "note",
        "mechanism.parameters",
        no_search
        if mechanism.sampling_fraction == 1
        else f"texts are found by the others, and {share} found",
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
    chain = manifest.mechanism()
    if isinstance(chain, MemoizedChain) and manifest.linkage > MAX_LINKAGE:
        yield _identifier(manifest.linkage, chain.first)


def _identifier(bits: float, first: Memoizable) -> Finding:
    """What makes reports of one hold recognisable, and among how many devices."""
    many = f"{round(2**bits):,}" if bits < _COUNTABLE else f"2^{bits:.0f}"
    return Finding(
        "warning",
        "linkable",
        f"reports of one hold are an identifier, of one device in about {many}: "
        f"{_what_links(first)}; who sees two of them can tell that one device sent both",
    )


def _what_links(first: Memoizable) -> str:
    """What stays the same in all reports of a permanent answer."""
    if first.public_outcomes > 1:
        return f"each says openly which of {_count(first.public_outcomes)} things it tells of"
    if first.coordinates > 1:
        return f"{first.coordinates:,} bits stay alike"
    return f"a message out of {_count(first.alphabet_size)} stays alike"


def _count(number: int) -> str:
    return f"{number:,}" if number < 1 << _COUNTABLE else f"2^{number.bit_length() - 1}"


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


def _bits_per_report(manifest: Manifest) -> int:
    """Bits in one report."""
    return _bits_of(manifest.mechanism())


def _bits_of(mechanism: mechanisms.Mechanism) -> int:
    return int(mechanism.sampling_fraction * mechanism.domain_size)


def _variance(mechanism: mechanisms.Mechanism) -> Fraction:
    """n·Var of a frequency: near 0, at ½ where a report tells of some labels only.

    For bits that is the largest there is; for those all told it is that of any frequency.
    """
    p, q, fraction = mechanism.p, mechanism.q, mechanism.sampling_fraction
    spread = q * (1 - q) / (p - q) ** 2
    return spread if fraction == 1 else (spread + Fraction(1, 4)) / fraction


def _variance_of(manifest: Manifest, mechanism: mechanisms.Mechanism) -> tuple[Fraction, str]:
    """n·Var, and of what: a cell of two attributes, a range of numbers, else one label."""
    if isinstance(manifest.domain, Record):
        with suppress(ParameterError):
            error = two_way_error(mechanism, manifest.domain.radices)
            return error, "a frequency of two attributes together"
    of_ranges = range_variance(mechanism)
    if of_ranges is not None:
        return of_ranges, "a range of values, on average"
    return _variance(mechanism), "a frequency"


def _tenths(number: Fraction) -> str:
    tenths = round(10 * number)
    return f"{tenths // 10}.{tenths % 10}"


def identity(manifest: Manifest) -> Iterator[Finding]:
    """Whom the reports can be traced to."""
    if manifest.identified:
        yield Finding(
            "warning",
            "requires",
            f"identified: who issues {', '.join(manifest.requires)} can tell whose report is "
            "whose. No anonymity is claimed; only the noise protects what was answered",
        )
