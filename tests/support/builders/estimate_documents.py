"""Documents of estimates, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deniable_aggregator.documents.estimates import EstimatesDocument

__all__ = ["estimates_document"]

EMPTY_ROW = dict.fromkeys(
    ("count", "std_error", "reports_to_leave_interval", "devices_to_leave_interval")
)
EMPTY = {
    "collection": "c",
    "mechanism": "grr/1",
    "epsilon": "1",
    "repeat": "once",
    "n": 9,
    "epochs": [1],
    "provisional": False,
    "confidence": 0.95,
    "trust": {"influence": None},
}


def estimates_document(*rows: Mapping[str, object], **members: object) -> EstimatesDocument:
    """With these rows of labels; what a row or the document lacks is empty."""
    estimates = [{**EMPTY_ROW, **row} for row in rows]
    return msgspec.convert({**EMPTY, **members, "estimates": estimates}, EstimatesDocument)
