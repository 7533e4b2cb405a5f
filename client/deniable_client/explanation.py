"""What this client reveals, in words and numbers: `Client.explain()`.

Of a report that waits the very payload is shown, as it will leave but for the seal. Of one that has
left, the state file keeps the SHA-256 and the size of the last request it left in, and no more: the
payload and the id are wiped, so that nothing on the device links it to the reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable_client.budget import Budget
from deniable_client.consent import Consent
from deniable_shared.analysis.posterior import max_posterior, max_posterior_percent
from deniable_shared.domains import Bits
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from deniable_client.ceiling import Ceiling
    from deniable_client.prepared_collection import PreparedCollection
    from deniable_shared.manifest.model import Manifest

__all__ = ["CollectionExplanation", "Explanation", "LogHead", "ReportExplanation", "explain"]

_MOST_LABELS = 12
_MOST_REPORTS = 5
_CONSENT = {
    Consent.GRANTED: "You agreed. You can withdraw that at any time.",
    Consent.DENIED: "You said no. Nothing is recorded or sent.",
    Consent.UNKNOWN: "You were not asked yet. Nothing is recorded or sent.",
}


@dataclass(frozen=True, slots=True)
class CollectionExplanation:
    """One collection. ε as exact Fractions, chances as Fractions in 0…1.

    `truth_probability`: the chance that one report supports the true answer. Someone for whom two
    answers were equally likely is at most `max_posterior` sure of the right one after one report,
    and `max_posterior_lifetime` after everything that this device will ever send for the
    collection. `linkage` is in bits: how much two reports of one permanent answer share.
    `identified`: the operator can see whose report it is.
    """

    name: str
    collection: str
    version: int
    purpose: str
    owner: str
    labels: tuple[str, ...]
    repeat: str
    presence: str
    sampling: Fraction
    epsilon_report: Fraction
    epsilon_permanent: Fraction | None
    epsilon_lifetime: Fraction
    truth_probability: Fraction
    max_posterior: Fraction
    max_posterior_lifetime: Fraction
    linkage: float
    identified: bool
    schedule: str
    budget: Budget
    admitted: bool
    text: str


@dataclass(frozen=True, slots=True)
class ReportExplanation:
    """One report. `state`: waiting, sending (requested, no answer yet), done, dropped or wiped.

    `payload` and `report_id` as long as it waits; `request_sha256` and `request_bytes` of the last
    request it left in, None if it never did, and how many requests there were.
    """

    collection: str
    epoch: int
    state: str
    reason: str | None
    requests: int
    request_sha256: str | None
    request_bytes: int | None
    payload: bytes | None
    report_id: bytes | None


@dataclass(frozen=True, slots=True)
class LogHead:
    """The operator's log as last seen: compare it with somebody else's, size by size."""

    size: int
    head: str
    keys_version: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything `Client.explain()` tells; `text` is what an app can show to a person."""

    url: str
    consent: Consent
    denied_by: str | None
    forked: str | None
    log: LogHead | None
    budget: Budget
    collections: tuple[CollectionExplanation, ...]
    reports: tuple[ReportExplanation, ...]
    text: str


def explain(
    db: sqlite3.Connection,
    *,
    url: str,
    denied_by: str | None,
    budget: Budget,
    ceiling: Ceiling,
    collections: Iterable[PreparedCollection],
) -> Explanation:
    """Read the state and put it into words."""
    row = db.execute(
        "SELECT consent, forked, log_size, log_head, keys_version FROM installation"
    ).fetchone()
    consent, forked, head = Consent(row["consent"]), row["forked"], row["log_head"]
    explanations = tuple(_explain_collection(prepared, budget) for prepared in collections)
    reports = tuple(_reports(db))
    log = LogHead(row["log_size"], head, row["keys_version"]) if head else None
    return Explanation(
        url=url,
        consent=consent,
        denied_by=denied_by,
        forked=forked,
        log=log,
        budget=budget,
        collections=explanations,
        reports=reports,
        text="\n\n".join(
            [
                _status_text(url, consent, denied_by, forked),
                *(explanation.text for explanation in explanations),
                _total_text(budget, ceiling),
                _reports_text(reports),
                _log_text(log),
            ]
        ),
    )


def _explain_collection(prepared: PreparedCollection, total: Budget) -> CollectionExplanation:
    manifest, mechanism = prepared.manifest, prepared.mechanism
    lifetime = prepared.schedule.lifetime
    untouched = Budget(lifetime, Fraction(0), min(lifetime, total.left))
    budget = total.collections.get(manifest.name, untouched)
    return CollectionExplanation(
        name=manifest.name,
        collection=manifest.collection,
        version=manifest.version,
        purpose=manifest.purpose,
        owner=manifest.owner,
        labels=manifest.domain.topics,
        repeat=manifest.repeat,
        presence=manifest.presence,
        sampling=manifest.sampling,
        epsilon_report=manifest.epsilon_report,
        epsilon_permanent=manifest.epsilon_permanent,
        epsilon_lifetime=lifetime,
        truth_probability=mechanism.p,
        max_posterior=max_posterior(manifest.epsilon_report),
        max_posterior_lifetime=max_posterior(prepared.schedule.lifetime_cost),
        linkage=manifest.linkage,
        identified=manifest.identified,
        schedule=prepared.schedule.description,
        budget=budget,
        admitted=prepared.admitted,
        text=_collection_text(prepared, budget),
    )


def _reports(db: sqlite3.Connection) -> Iterable[ReportExplanation]:
    rows = db.execute(
        "SELECT collection, epoch, state, reason, attempts AS requests, request_digest,"
        " request_bytes, payload, report_id FROM outbox ORDER BY epoch, collection"
    )
    return (_explain_report(**row) for row in rows)


def _explain_report(*, request_digest: bytes | None, **columns: Any) -> ReportExplanation:
    digest = None if request_digest is None else request_digest.hex()
    return ReportExplanation(request_sha256=digest, **columns)


def _collection_text(prepared: PreparedCollection, budget: Budget) -> str:
    manifest = prepared.manifest
    lines = [
        f"{manifest.name}: {manifest.purpose}",
        f"  Asked by {manifest.owner}, about: {_labels(manifest.domain.topics)}.",
    ]
    if not prepared.admitted:
        return "\n".join([*lines, "  It asks for more than this app gives. It gets nothing."])
    return "\n".join(
        [*lines, *_revealed_lines(prepared), *_circumstance_lines(manifest), _spent_line(budget)]
    )


def _labels(labels: tuple[str, ...]) -> str:
    more = len(labels) - _MOST_LABELS
    return ", ".join(labels[:_MOST_LABELS]) + (f" and {more:,} more" if more > 0 else "")


def _revealed_lines(prepared: PreparedCollection) -> Iterable[str]:
    manifest, epsilon_spent_at_most = prepared.manifest, prepared.schedule.lifetime_cost
    yield f"  {_noise_text(prepared)}: any answer could have led to any report."
    yield (
        f"  One report: ε = {format_epsilon(manifest.epsilon_report)}. Who thought two answers "
        f"equally likely can be at most {max_posterior_percent(manifest.epsilon_report)} % sure "
        "after it."
    )
    yield (
        f"  All that this device ever tells: ε = {format_epsilon(epsilon_spent_at_most)}, at most "
        f"{max_posterior_percent(epsilon_spent_at_most)} % sure. "
        f"It {prepared.schedule.description}."
    )


def _noise_text(prepared: PreparedCollection) -> str:
    """What a report says of the answer: it names one, or points to several at once."""
    mechanism, domain = prepared.mechanism, prepared.manifest.domain
    true, other = _percent(mechanism.p), _percent(mechanism.q)
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
            "  Reports carry a voucher that was issued for you: the operator can tell which report "
            "is yours. Only the noise protects what you answered."
        )
    if manifest.presence == "always":
        yield "  Every device answers, so that one answered says nothing about you."
    else:
        yield "  That this device answered, and on which day or hour, can be seen."
    if manifest.repeat == "memoized":
        yield (
            "  Reports of one answer can be told to come from one device to the extent of "
            f"{manifest.linkage:.2f} bits for any two."
        )
    if manifest.sampling < 1:
        yield f"  {_percent(manifest.sampling)} of all devices are asked, drawn without looking."


def _spent_line(budget: Budget) -> str:
    return f"  Spent so far: {_decimal(budget.spent)}; left: {_decimal(budget.left)}."


def _status_text(url: str, consent: Consent, denied_by: str | None, forked: str | None) -> str:
    lines = [f"Answers go to {url}, tossed on this device before they are kept.", _CONSENT[consent]]
    if denied_by is not None:
        lines.append(f"Everything is paused: {denied_by}.")
    if forked is not None:
        lines.append(f"Everything is stopped, for the operator contradicted itself: {forked}.")
    return "\n".join(lines)


def _total_text(budget: Budget, ceiling: Ceiling) -> str:
    return (
        f"All collections together: ε = {_decimal(budget.spent)} of at most "
        f"{format_epsilon(ceiling.epsilon_lifetime)} spent, which no server can raise."
    )


def _reports_text(reports: tuple[ReportExplanation, ...]) -> str:
    waiting = [each for each in reports if each.payload is not None]
    gone = [each for each in reports if each.payload is None and each.requests]
    lines = [f"Reports waiting: {len(waiting)}. Reports that left this device: {len(gone)}."]
    lines += [
        f"  waiting  {_where(each)}: {(each.payload or b'').hex()}"
        for each in waiting[-_MOST_REPORTS:]
    ]
    lines += [
        f"  {each.state}  {_where(each)}: {each.request_bytes} bytes, SHA-256 {each.request_sha256}"
        for each in gone[-_MOST_REPORTS:]
    ]
    return "\n".join(lines)


def _where(report: ReportExplanation) -> str:
    return f"{report.collection}, epoch {report.epoch}"


def _log_text(log: LogHead | None) -> str:
    if log is None:
        return "The operator's log has not been seen yet."
    return f"The operator's log: {log.size} entries, head {log.head}."


def _percent(share: Fraction) -> str:
    tenths = -(-share * 1000 // 1)
    if tenths == 1000 and share < 1:
        return "more than 99.9 %"
    return f"{tenths // 10}.{tenths % 10} %"


def _decimal(epsilon: Fraction) -> str:
    return f"{float(epsilon):.6f}".rstrip("0").rstrip(".")
