"""What this client reveals, in words and numbers: `Client.explain()`.

A waiting report is shown with the payload that will leave, before sealing. Of a report that has
left, the state file keeps only the SHA-256 and the size of the last request. The payload and the id
are deleted, so nothing on the device links it to the reports on the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_client.budget import Budget
    from deniable_client.consent import Consent

__all__ = ["CollectionExplanation", "Explanation", "LogHead", "ReportExplanation"]


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
