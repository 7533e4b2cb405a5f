"""Reads the state file and explains it: `Client.explain()`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable_client.budget import Budget
from deniable_client.consent import Consent
from deniable_client.explanation import (
    CollectionExplanation,
    Explanation,
    LogHead,
    ReportExplanation,
)
from deniable_client.explanation_words import (
    collection_text,
    log_text,
    reports_text,
    schedule_words,
    status_text,
    total_text,
)
from deniable_client.payload_words import sentence_of
from deniable_shared.analysis.posterior import max_posterior

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_client._recording.prepared_collection import PreparedCollection
    from deniable_client.ceiling import Ceiling

__all__ = ["explain"]


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
        schedule=schedule_words(prepared),
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
