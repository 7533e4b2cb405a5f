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
from deniable_client.explanation_words import (
    collection_text,
    log_text,
    reports_text,
    status_text,
    total_text,
)
from deniable_client.payload_words import sentence_of
from deniable_shared.analysis.posterior import max_posterior

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_client.ceiling import Ceiling
    from deniable_client.prepared_collection import PreparedCollection

__all__ = ["CollectionExplanation", "Explanation", "LogHead", "ReportExplanation", "explain"]


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
                status_text(url, consent, denied_by, forked),
                *(explanation.text for explanation in explanations),
                total_text(budget, ceiling),
                reports_text(reports, by_id),
                log_text(log),
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
        text=collection_text(prepared, budget),
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
