"""Lint findings about answers: their cost, strength, accuracy, linkage and presence."""

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
from deniable_shared.manifest.epochs import period_name
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
_COUNTABLE = 40  # bits: more values than devices in the world
_LOW_BIT_EPSILON = Fraction(1, 4)
_WORTH_A_NOTE, _WORTH_A_WARNING = Fraction(5, 4), 2


def cost(manifest: Manifest) -> Iterator[Finding]:
    """When a device stops answering, and the least ceiling for that."""
    report, spends = format_epsilon(manifest.epsilon_report), manifest.schedule.lifetime_cost
    once = ", the first in which it records" if manifest.repeat == "once" else ""
    yield Finding(
        "note",
        "repeat",
        f"a device {manifest.answers}{once}",
        f"Each device {manifest.schedule.words(period_name(manifest.epoch_seconds))}",
    )
    permanent = manifest.epsilon_permanent
    middle = f"epsilon_permanent {format_epsilon(permanent)}, " if permanent else ""
    yield Finding(
        "note",
        "epsilon",
        f"the least ceiling that lets it answer: epsilon_per_report {report}, {middle}"
        f"epsilon_lifetime {format_epsilon(spends)}",
        f"The privacy limit in the app must allow ε = {report} for one report and "
        f"ε = {format_epsilon(spends)} in total. The code in step 6 does",
    )
    if manifest.epsilon_lifetime > spends:
        lifetime = format_epsilon(manifest.epsilon_lifetime)
        yield Finding(
            "note",
            "epsilon.lifetime",
            f"all its reports cost {format_epsilon(spends)}, so {lifetime} is never spent",
            f"All answers of a device together spend ε = {format_epsilon(spends)}, not {lifetime}",
        )


def strength(manifest: Manifest) -> Iterator[Finding]:
    """How often reports are true; for a memoized collection, how often the permanent answer is."""
    path = "epsilon.permanent" if manifest.epsilon_permanent else "epsilon.report"
    epsilon = manifest.epsilon_permanent or manifest.epsilon_report
    truth = percent(Fraction(manifest.threshold, SCALE))
    if epsilon > _HIGH_EPSILON:
        yield Finding(
            "warning",
            path,
            f"above {_HIGH_EPSILON} little can be denied: {truth} true",
            f"Above {_HIGH_EPSILON} people can hardly deny their answer: {truth} of the reports "
            "are true",
        )
    if not isinstance(manifest.domain, Bits):
        return
    shared = min(manifest.domain.distance, _bits_per_report(manifest))
    if manifest.epsilon_report / shared < _LOW_BIT_EPSILON:
        truth_share = percent(manifest.mechanism().p)
        yield Finding(
            "warning",
            "domain.labels",
            f"ε is split over {shared} bits, so each is reported truthfully with "
            f"only {truth_share}: ask fewer, or declare one-hot or at-most if that holds",
            f"{shared} labels share ε, so a report is true for each with only {truth_share}. "
            "Ask for fewer labels",
        )


def accuracy(manifest: Manifest) -> Iterator[Finding]:
    """The accuracy of estimates, by the number of reports or devices."""
    variance, of = _variance_of(manifest, manifest.mechanism())
    few, many = (square_root(variance / n) for n in (_FEW, _MANY))
    needed = -(-variance * 10**4 // 1)
    yield Finding(
        "note",
        "epsilon.report",
        f"standard error of {of}: {percent(few)} with {_FEW:,} reports, {percent(many)} with "
        f"{_MANY:,}; 1.00 % needs {needed:,} reports. A larger epsilon needs fewer",
        f"Standard error of {of}: {percent(few)} with {_FEW:,} reports, {percent(many)} with "
        f"{_MANY:,}. A larger ε needs fewer reports",
    )
    if isinstance(mechanism := manifest.mechanism(), MemoizedChain):
        kept, _ = _variance_of(manifest, mechanism.first)
        yield _over_a_hold(manifest, variance, kept)
    single = not isinstance(manifest.domain, Bits | Record | Text) and of == "a frequency"
    if single and many * manifest.domain.size > 1:
        yield Finding(
            "warning",
            "domain.labels",
            f"even {_MANY:,} reports cannot distinguish {manifest.domain.size} labels: "
            "ask for fewer, or raise epsilon",
            f"Even {_MANY:,} reports cannot separate {manifest.domain.size} answers: ask for "
            "fewer, or raise ε",
        )
    if square_root(variance / manifest.min_batch) > Fraction(1, 2):
        error = percent(square_root(variance / manifest.min_batch))
        yield Finding(
            "warning",
            "min_batch",
            f"{manifest.min_batch} reports have a standard error of {error}",
            f"With {manifest.min_batch} reports the standard error is {error}: show more",
        )


def _over_a_hold(manifest: Manifest, variance: Fraction, kept: Fraction) -> Finding:
    """V_∞ + (V_1 − V_∞)/T, where V_∞ is that of the permanent answers themselves.

    Source: docs/mathematics/repeated-answers.md, Reports of one device.
    """
    epochs = min(manifest.hold_epochs, manifest.schedule.epochs)
    whole = square_root((kept + (variance - kept) / epochs) / _FEW)
    return Finding(
        "note",
        "hold_epochs",
        f"{_FEW:,} devices that answer during a whole hold: std_error {percent(whole)}, but never "
        f"below {percent(square_root(kept / _FEW))}; estimates are for the start of the hold",
        f"With {_FEW:,} devices that answer all the time, the standard error is {percent(whole)}, "
        f"and never below {percent(square_root(kept / _FEW))}. Estimates are for the first day",
    )


def choice_of_mechanism(manifest: Manifest) -> Iterator[Finding]:
    """Whether another mechanism needs fewer reports, and how much a report contains."""
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
            f"a report contains {_bits_per_report(manifest)} of {manifest.domain.size} "
            f"{'bits' if isinstance(manifest.domain, Bits) else 'buckets'}; which ones is visible",
            f"A report covers {_bits_per_report(manifest)} of {manifest.domain.size} answers, and "
            "shows which ones",
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
        return  # errors of a mean and of a frequency are not comparable
    times = mechanism_error(manifest.mechanism()) / mechanism_error(best)
    if best.id == manifest.mechanism_id or times < _WORTH_A_NOTE:
        return
    share = f", which reports {_bits_of(best)} of the {best.domain_size} bits"
    yield Finding(
        "note" if isinstance(manifest.domain, Bits) or times < _WORTH_A_WARNING else "warning",
        "mechanism.id",
        f"{manifest.mechanism_id} needs about {_tenths(times)} times the reports of {best.id}"
        f"{share if best.sampling_fraction < 1 else ''}",
    )


def _search(mechanism: mechanisms.Mechanism) -> Finding:
    """How reports are divided between the search for texts and their frequencies."""
    fraction = percent(mechanism.sampling_fraction)
    share = f"{fraction} of the reports are held out to estimate their frequencies"
    no_search = "no text is searched for: only lists given later are counted, by every report"
    return Finding(
        "note",
        "mechanism.parameters",
        no_search if mechanism.sampling_fraction == 1 else f"{share}; the others search for texts",
        "Texts are counted from lists that you give later, not searched for"
        if mechanism.sampling_fraction == 1
        else f"{fraction} of the reports measure texts. The others are used to search for them",
    )


def linkage(manifest: Manifest) -> Iterator[Finding]:
    """How well reports of one device can be linked."""
    if manifest.epsilon_permanent:
        yield Finding(
            "note",
            "linkable",
            f"two reports of one permanent answer share {manifest.linkage:.2f} bits: "
            "the second round hides the answer, not the device. If that matters, use "
            'repeat = "once" or "fresh"',
            f"Two reports of one device share {manifest.linkage:.2f} bits: the noise hides the "
            "answer, not the device. If that matters, choose “once” or “each day, new noise”",
        )
    if manifest.linkable and manifest.linkage <= MAX_LINKAGE:
        yield Finding("note", "linkable", f"true is not needed at {manifest.linkage:.2f} bits")
    chain = manifest.mechanism()
    if isinstance(chain, MemoizedChain) and manifest.linkage > MAX_LINKAGE:
        yield _identifier(manifest.linkage, chain.first)


def _identifier(bits: float, first: Memoizable) -> Finding:
    """The finding that reports of one hold can be linked, and among how many devices."""
    many = f"{round(2**bits):,}" if bits < _COUNTABLE else f"2^{bits:.0f}"
    return Finding(
        "warning",
        "linkable",
        f"reports of one hold are an identifier, of one device in about {many}: "
        f"{_what_links(first)}; anyone who sees two of them knows that one device sent both",
        f"Reports of one device look alike: they point to one device in about {many}. Anyone who "
        "sees two of them knows that one device sent both",
    )


def _what_links(first: Memoizable) -> str:
    """The part that is the same in all reports of a permanent answer."""
    if first.public_outcomes > 1:
        return f"each shows openly which of {_count(first.public_outcomes)} parts it is about"
    if first.coordinates > 1:
        return f"{first.coordinates:,} bits stay the same"
    return f"one of {_count(first.alphabet_size)} messages stays the same"


def _count(number: int) -> str:
    return f"{number:,}" if number < 1 << _COUNTABLE else f"2^{number.bit_length() - 1}"


def presence(manifest: Manifest) -> Iterator[Finding]:
    """Findings on which devices answer."""
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
            f"{percent(manifest.sampling)} of the devices are asked; ε is that of an asked device",
        )


def _bits_per_report(manifest: Manifest) -> int:
    """Bits in one report."""
    return _bits_of(manifest.mechanism())


def _bits_of(mechanism: mechanisms.Mechanism) -> int:
    return int(mechanism.sampling_fraction * mechanism.domain_size)


def _variance(mechanism: mechanisms.Mechanism) -> Fraction:
    """n·Var of a frequency near 0; at ½ if a report contains only some labels.

    For bits that is the maximum; if all bits are reported, it is equal for all frequencies.
    """
    p, q, fraction = mechanism.p, mechanism.q, mechanism.sampling_fraction
    spread = q * (1 - q) / (p - q) ** 2
    return spread if fraction == 1 else (spread + Fraction(1, 4)) / fraction


def _variance_of(manifest: Manifest, mechanism: mechanisms.Mechanism) -> tuple[Fraction, str]:
    """n·Var and its quantity: a cell of two attributes, a range of numbers, else one label."""
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
    """Whether reports identify people."""
    if manifest.identified:
        yield Finding(
            "warning",
            "requires",
            f"identified: the issuer of {', '.join(manifest.requires)} can see whose report is "
            "whose. No anonymity is claimed; only the noise protects an answer",
        )
