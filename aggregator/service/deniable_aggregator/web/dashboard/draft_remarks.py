"""Remarks of the linter on a draft, each at the field of the form that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.collections.authoring.lint_findings import Finding, Level

_ANSWER_FIELDS = {"number": "step", "record": "attributes", "text": "max_bytes"}
"""Type of answer → the field that a remark on the answers is shown at; of others `labels`."""

_FIELDS = {"hold_epochs": "repeat", "linkable": "repeat"}
"""Key of the file → the field that decides it; other keys have the name of their field."""

_REST = {
    "expires": "Last day",
    "ingest": "Address for reports",
    "mechanism": "Mechanism",
    "presence": "Presence",
    "public": "Public results",
    "requires": "Vouchers",
    "sampling": "Sampling",
    "valid_from": "First day",
    "web_origins": "Websites",
}
"""Keys of the file that the form has no field for, in words."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark in the words of the form. `about` names what has no field; empty for a field."""

    level: Level
    text: str
    about: str = ""


def remarks_of(
    findings: Sequence[Finding], *, domain: str, fields: Sequence[str]
) -> Mapping[str, Sequence[Remark]]:
    """Field → its remarks, errors first; under the empty name those that no field decides."""
    remarks: dict[str, list[Remark]] = {}
    for finding in findings:
        key = finding.field.partition(".")[0]
        answers = key == "domain"
        name = _ANSWER_FIELDS.get(domain, "labels") if answers else _FIELDS.get(key, key)
        field = name if name in fields else ""
        about = "" if field else _REST.get(key, key)
        remarks.setdefault(field, []).append(Remark(finding.level, finding.in_form, about))
    return remarks
