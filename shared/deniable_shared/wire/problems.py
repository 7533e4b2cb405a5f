"""What can go wrong with an upload or a request, as data: codes, titles, whether to retry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ReportError(IntEnum):
    """Why one report of an upload was rejected. The value is the code on the wire."""

    EPOCH_CLOSED = 0x01
    CANNOT_OPEN = 0x05
    COLLECTION_EXPIRED = 0x07
    INVALID_MESSAGE = 0x08
    TOO_EARLY = 0x09
    NOT_STARTED = 0x0A
    OUTDATED_KEY = 0x0B
    MANIFEST_UNKNOWN = 0x80
    TOKEN_REQUIRED = 0x81
    TOKEN_INVALID = 0x82
    UNKNOWN_EXTENSION = 0x83
    VOUCHER_REQUIRED = 0x84
    VOUCHER_INVALID = 0x85
    VOUCHER_SPENT = 0x86

    @property
    def slug(self) -> str:
        """The name in counters and logs: "epoch-closed"."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class ProblemType:
    """The failure of a whole request (RFC 9457). `retry`: the same request may succeed later."""

    slug: str
    title: str
    status: int
    retry: bool = False

    @property
    def uri(self) -> str:
        """The `type` of the problem document."""
        return f"urn:deniable:problem:{self.slug}"


_TYPES = (
    ProblemType("invalid-argument", "An argument is missing or out of range", 400),
    ProblemType("invalid-message", "The body is not a message of this protocol", 400),
    ProblemType("unauthorized", "A valid token is needed", 401),
    ProblemType("forbidden", "This role does not allow that", 403),
    ProblemType("form-refused", "The form did not come from a page of this service", 403),
    ProblemType("read-refused", "This collection's `read` does not allow that", 403),
    ProblemType("not-found", "There is nothing at this address", 404),
    ProblemType("unknown-collection", "No collection has this id or name", 404),
    ProblemType("method-not-allowed", "This address does not take that method", 405),
    ProblemType("not-acceptable", "None of the accepted media types can be given", 406),
    ProblemType("conflict", "The present state does not allow that", 409),
    ProblemType("too-few-reports", "Fewer reports than the collection's min_batch", 409),
    ProblemType("budget-exhausted", "The collection's budget of releases does not allow that", 409),
    ProblemType("epoch-open", "Releases read closed epochs only", 409, retry=True),
    ProblemType("ledger-behind", "The database has forgotten charges", 409, retry=True),
    ProblemType("collection-closed", "The collection takes no reports any more", 410),
    ProblemType("length-required", "The body's length must be announced", 411),
    ProblemType("too-large", "The body is larger than accepted", 413),
    ProblemType("unsupported-media-type", "The body's media type is not accepted", 415),
    ProblemType("manifest-refused", "The manifest breaks a rule", 422),
    ProblemType("too-many-requests", "More reports than accepted in this time", 429, retry=True),
    ProblemType("internal", "The server failed", 500, retry=True),
    ProblemType("damaged", "What is stored is damaged", 500),
    ProblemType("release-failed", "What was paid for was not made", 500, retry=True),
    ProblemType("unavailable", "The server is not ready", 503, retry=True),
)

PROBLEMS: Mapping[str, ProblemType] = MappingProxyType({kind.slug: kind for kind in _TYPES})


def problem_document(slug: str, detail: str, **extra: object) -> dict[str, object]:
    """Return the RFC 9457 document. Raises ValueError if `extra` repeats a standard member."""
    kind = PROBLEMS[slug]
    document: dict[str, object] = {
        "type": kind.uri,
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "retry": kind.retry,
    }
    repeated = sorted(document.keys() & extra.keys())
    if repeated:
        raise ValueError(f"extra members must not be any of {sorted(document)}, got {repeated}")
    return document | extra
