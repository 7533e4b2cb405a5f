"""Recognises the aggregator's own replies to an upload.

Proxies, captive portals and other servers may reply too, with any status. A client deletes a report
only after a reply that these functions recognise. After any other reply it keeps the report.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEMS, ProblemType
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, ReportStatus, decode_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK = 200
_BY_URI = {kind.uri: kind for kind in PROBLEMS.values()}


def read_statuses(
    status: int, headers: Mapping[str, str], body: bytes
) -> list[ReportStatus] | None:
    """Return the reports that failed, or None if this is not the aggregator's own 200.

    An empty list means that every report was accepted.
    """
    if status != _OK or not _is_own(headers, body, ERRORS_MEDIA_TYPE):
        return None
    try:
        return decode_errors(body)
    except DecodeError:
        return None


def read_problem(status: int, headers: Mapping[str, str], body: bytes) -> ProblemType | None:
    """Return the problem, or None if this is not the aggregator's own refusal."""
    if not _is_own(headers, body, PROBLEM_MEDIA_TYPE):
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    uri = document.get("type") if isinstance(document, dict) else None
    kind = _BY_URI.get(uri) if isinstance(uri, str) else None
    return kind if kind is not None and kind.status == status else None


def read_date(value: str) -> float | None:
    """Return a Date header field in unix seconds; None if it cannot be read."""
    from email.utils import parsedate_to_datetime  # loads a megabyte, which few devices need

    try:
        moment = parsedate_to_datetime(value)
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def header_field(headers: Mapping[str, str], name: str) -> str:
    """Return a header field by its lower-case name; "" if there is none."""
    return next((value for key, value in headers.items() if key.lower() == name), "")


def _is_own(headers: Mapping[str, str], body: bytes, media_type: str) -> bool:
    return (
        _names(header_field(headers, "content-type"), media_type)
        and not header_field(headers, "content-encoding")
        and _is_whole(headers, body)
    )


def _is_whole(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the reply states its length and has it: a truncated one may look like success."""
    if header_field(headers, "transfer-encoding").lower() == "chunked":
        return True
    return header_field(headers, "content-length") == str(len(body))


def _names(given: str, wanted: str) -> bool:
    """Whether a Content-Type is this media type in any case, with any other parameters."""
    kind, *parameters = _parts(given)
    wanted_kind, *needed = _parts(wanted)
    names = {parameter.partition("=")[0] for parameter in parameters}
    return kind == wanted_kind and set(needed) <= set(parameters) and len(names) == len(parameters)


def _parts(media_type: str) -> list[str]:
    """Return the type and its parameters, in lower case, without spaces and quotes."""
    plain = "".join(media_type.lower().replace('"', "").split())
    return [part for part in plain.split(";") if part] or [""]
