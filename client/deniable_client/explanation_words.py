"""The sentences of `Client.explain().text`, in words for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_client._uploading.waiting import format_time
from deniable_client.consent import Consent
from deniable_client.payload_words import list_labels, percent
from deniable_shared.analysis.posterior import max_posterior_percent
from deniable_shared.domains import Bits
from deniable_shared.manifest.epochs import epoch_start, period_name
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_client._recording.prepared_collection import PreparedCollection
    from deniable_client.budget import Budget
    from deniable_client.ceiling import Ceiling
    from deniable_client.explanation import LogHead, ReportExplanation
    from deniable_shared.manifest.model import Manifest

__all__ = [
    "collection_text",
    "log_text",
    "reports_text",
    "schedule_words",
    "status_text",
    "total_text",
]

_MOST_REPORTS = 5
_CONSENT = {
    Consent.GRANTED: "You agreed. You can withdraw that at any time.",
    Consent.DENIED: "You said no. Nothing is recorded or sent.",
    Consent.UNKNOWN: "You were not asked yet. Nothing is recorded or sent.",
}


def collection_text(prepared: PreparedCollection, budget: Budget) -> str:
    """What one question asks, what its reports reveal, and what this device has spent on it."""
    manifest = prepared.manifest
    lines = [
        f"{manifest.name}: {manifest.purpose}",
        f"  Asked by {manifest.owner}, about: {list_labels(manifest.domain.topics)}.",
    ]
    if not prepared.admitted:
        return "\n".join([*lines, "  It asks for more than this app allows, so it gets no answer."])
    return "\n".join(
        [*lines, *_revealed_lines(prepared), *_circumstance_lines(manifest), _spent_line(budget)]
    )


def _revealed_lines(prepared: PreparedCollection) -> Iterable[str]:
    manifest, epsilon_spent_at_most = prepared.manifest, prepared.schedule.lifetime_cost
    yield f"  {_noise_text(prepared)}: any answer could have led to any report."
    yield (
        f"  One report: ε = {format_epsilon(manifest.epsilon_report)}. Someone who "
        "thought two answers equally likely can be at most "
        f"{max_posterior_percent(manifest.epsilon_report)} % sure after it."
    )
    yield (
        f"  All reports about this question: ε = {format_epsilon(epsilon_spent_at_most)}, "
        f"at most {max_posterior_percent(epsilon_spent_at_most)} % sure. "
        f"This device {schedule_words(prepared)}."
    )


def schedule_words(prepared: PreparedCollection) -> str:
    """When this device answers and when it stops, in words that follow "this device"."""
    return prepared.schedule.words(period_name(prepared.manifest.epoch_seconds))


def _noise_text(prepared: PreparedCollection) -> str:
    """Say how the randomizer scrambles an answer of this collection."""
    mechanism, domain = prepared.mechanism, prepared.manifest.domain
    true, other = percent(mechanism.p), percent(mechanism.q)
    if isinstance(domain, Bits):
        return f"In a report each yes or no is true with a chance of {true} and wrong otherwise"
    if mechanism.p + (domain.size - 1) * mechanism.q == 1:
        return f"In a report the answer is true with a chance of {true} and wrong otherwise"
    return (
        "A report points to several answers at once: to the true one with a chance of "
        f"{true}, to any other with a chance of {other}"
    )


def _circumstance_lines(manifest: Manifest) -> Iterable[str]:
    if manifest.identified:
        yield (
            "  Reports carry a voucher that was issued for you: the operator can see which report "
            "is yours. Only the noise protects what you answered."
        )
    if manifest.presence == "always":
        yield "  Every device answers, so that one answered says nothing about you."
    else:
        yield "  That this device answered, and on which day or hour, can be seen."
    if manifest.repeat == "memoized":
        yield (
            f"  Two reports of one answer share {manifest.linkage:.2f} bits, by which they can be "
            "linked."
        )
    if manifest.public:
        yield (
            "  The answers of all people together are public: anyone may read these totals, never "
            "a single report."
        )
    if manifest.web_origins:
        yield f"  Pages of {', '.join(manifest.web_origins)} may ask this, too."
    if manifest.sampling < 1:
        yield f"  {percent(manifest.sampling)} of all devices are asked, chosen at random."


def _spent_line(budget: Budget) -> str:
    return f"  Spent so far: {budget.spent}; left: {budget.left}."


def status_text(url: str, consent: Consent, denied_by: str | None, forked: str | None) -> str:
    """Where answers go, what the person decided, and what pauses or stops everything."""
    lines = [
        f"Answers go to {url}, randomized on this device before they are kept.",
        _CONSENT[consent],
    ]
    if denied_by is not None:
        lines.append(f"Everything is paused: {denied_by}.")
    if forked is not None:
        lines.append(f"Everything is stopped, as the operator contradicted itself: {forked}.")
    return "\n".join(lines)


def total_text(budget: Budget, ceiling: Ceiling) -> str:
    """What is spent of the privacy limit, over all questions."""
    return (
        f"All questions together: ε = {budget.spent} of at most "
        f"{format_epsilon(ceiling.epsilon_lifetime)} spent, which no server can raise."
    )


def reports_text(
    reports: tuple[ReportExplanation, ...], by_id: Mapping[str, PreparedCollection]
) -> str:
    """The newest reports that wait, and those that left. `by_id` are the questions of the app."""
    waiting = [each for each in reports if each.payload is not None]
    gone = [each for each in reports if each.payload is None and each.requests]
    lines = [f"Reports waiting: {len(waiting)}. Reports that left this device: {len(gone)}."]
    for each in waiting[-_MOST_REPORTS:]:
        lines.append(f"  waiting  {_where(each, by_id)}: {(each.payload or b'').hex()}")
        lines.append(f"    {each.sentence}")
    for each in gone[-_MOST_REPORTS:]:
        request = f"{each.request_bytes} bytes, SHA-256 {each.request_sha256}"
        lines.append(f"  {each.state}  {_where(each, by_id)}: {request}")
    return "\n".join(lines)


def _where(report: ReportExplanation, by_id: Mapping[str, PreparedCollection]) -> str:
    """The question and the start of the period, if the app still has the question."""
    prepared = by_id.get(report.collection)
    if prepared is None:
        return report.collection
    start = epoch_start(report.epoch, prepared.manifest.epoch_seconds)
    return f"{report.collection}, {format_time(start)}"


def log_text(log: LogHead | None) -> str:
    """How long the operator's log is, and the checkpoint to compare with another device."""
    if log is None:
        return "The operator's log has not been seen yet."
    entries = "1 entry" if log.size == 1 else f"{log.size:,} entries"
    return f"The operator's log: {entries}, checkpoint {log.head}."
