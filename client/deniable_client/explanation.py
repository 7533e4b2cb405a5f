"""What this client reveals, in words and numbers: `Client.explain()`.

A waiting report is shown with the payload that will leave, before sealing. Of a report that has
left, the state file keeps only the SHA-256 and the size of the last request. The payload and the id
are deleted, so nothing on the device links it to the reports on the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable_client.budget import Budget
from deniable_client.consent import Consent
from deniable_client.payload_words import list_labels, percent, sentence_of
from deniable_shared.analysis.posterior import max_posterior, max_posterior_percent
from deniable_shared.domains import Bits
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_client.ceiling import Ceiling
    from deniable_client.prepared_collection import PreparedCollection
    from deniable_shared.manifest.model import Manifest

__all__ = ["CollectionExplanation", "Explanation", "LogHead", "ReportExplanation", "explain"]

_MOST_REPORTS = 5
_CONSENT = {
    Consent.GRANTED: "You agreed. You can withdraw that at any time.",
    Consent.DENIED: "You said no. Nothing is recorded or sent.",
    Consent.UNKNOWN: "You were not asked yet. Nothing is recorded or sent.",
}


@dataclass(frozen=True, slots=True)
class CollectionExplanation:
    """One collection. ε and chances are exact Fractions; chances are in 0…1.

    `truth_probability` is the chance that one report supports the true answer. Someone who was
    undecided between two answers is at most `max_posterior` sure of the right one after one report,
    and at most `max_posterior_lifetime` sure after all reports that this device ever sends for the
    collection. `linkage` is how much two reports of one permanent answer share, in bits.
    `identified`: the operator can see whose report it is. `public`: anyone may read the totals.
    `manifest` is the text that the operator signed, `digest` its SHA-256.
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
    public: bool
    schedule: str
    budget: Budget
    admitted: bool
    manifest: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class ReportExplanation:
    """One report. `state`: waiting, sending (requested, no reply yet), done, dropped or wiped.

    `payload`, `sentence` and `report_id` are present only while it waits. `request_sha256` and
    `request_bytes` describe the last request with this report, None if there was none. `requests`
    is the number of requests.
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
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class LogHead:
    """The last size and head seen of the operator's log.

    Compare them with those on other devices.
    """

    size: int
    head: str
    keys_version: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The result of `Client.explain()`. An app can show `text` to the person."""

    url: str
    consent: Consent
    denied_by: str | None
    forked: str | None
    log: LogHead | None
    budget: Budget
    collections: tuple[CollectionExplanation, ...]
    reports: tuple[ReportExplanation, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def explain(
    db: sqlite3.Connection,
    *,
    url: str,
    denied_by: str | None,
    budget: Budget,
    ceiling: Ceiling,
    collections: Sequence[PreparedCollection],
) -> Explanation:
    """Read the state and put it into words."""
    row = db.execute(
        "SELECT consent, forked, log_size, log_head, keys_version FROM installation"
    ).fetchone()
    consent, forked, head = Consent(row["consent"]), row["forked"], row["log_head"]
    explanations = tuple(_explain_collection(prepared, budget) for prepared in collections)
    by_id = {each.manifest.collection: each for each in collections}
    reports = tuple(_reports(db, by_id))
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
    untouched = Budget.of(lifetime, Fraction(0), total.left.exact)
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
        public=manifest.public,
        schedule=prepared.schedule.description,
        budget=budget,
        admitted=prepared.admitted,
        manifest=manifest.body.decode(),
        digest=manifest.digest.hex(),
        text=_collection_text(prepared, budget),
    )


def _reports(
    db: sqlite3.Connection, by_id: Mapping[str, PreparedCollection]
) -> Iterable[ReportExplanation]:
    rows = db.execute(
        "SELECT collection, epoch, state, reason, attempts AS requests, request_digest,"
        " request_bytes, payload, report_id FROM outbox ORDER BY epoch, collection"
    )
    return (_explain_report(by_id.get(row["collection"]), **row) for row in rows)


def _explain_report(
    prepared: PreparedCollection | None, *, request_digest: bytes | None, **columns: Any
) -> ReportExplanation:
    digest = None if request_digest is None else request_digest.hex()
    payload = columns["payload"]
    sentence = "" if payload is None else sentence_of(prepared, payload)
    return ReportExplanation(request_sha256=digest, sentence=sentence, **columns)


def _collection_text(prepared: PreparedCollection, budget: Budget) -> str:
    manifest = prepared.manifest
    lines = [
        f"{manifest.name}: {manifest.purpose}",
        f"  Asked by {manifest.owner}, about: {list_labels(manifest.domain.topics)}.",
    ]
    if not prepared.admitted:
        return "\n".join([*lines, "  It asks for more than this app gives. It gets nothing."])
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
        f"  Everything that this device ever sends: ε = {format_epsilon(epsilon_spent_at_most)}, "
        f"at most {max_posterior_percent(epsilon_spent_at_most)} % sure. "
        f"It {prepared.schedule.description}."
    )


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


def _status_text(url: str, consent: Consent, denied_by: str | None, forked: str | None) -> str:
    lines = [
        f"Answers go to {url}, randomized on this device before they are kept.",
        _CONSENT[consent],
    ]
    if denied_by is not None:
        lines.append(f"Everything is paused: {denied_by}.")
    if forked is not None:
        lines.append(f"Everything is stopped, as the operator contradicted itself: {forked}.")
    return "\n".join(lines)


def _total_text(budget: Budget, ceiling: Ceiling) -> str:
    return (
        f"All collections together: ε = {budget.spent} of at most "
        f"{format_epsilon(ceiling.epsilon_lifetime)} spent, which no server can raise."
    )


def _reports_text(reports: tuple[ReportExplanation, ...]) -> str:
    waiting = [each for each in reports if each.payload is not None]
    gone = [each for each in reports if each.payload is None and each.requests]
    lines = [f"Reports waiting: {len(waiting)}. Reports that left this device: {len(gone)}."]
    for each in waiting[-_MOST_REPORTS:]:
        lines.append(f"  waiting  {_where(each)}: {(each.payload or b'').hex()}")
        lines.append(f"    {each.sentence}")
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
