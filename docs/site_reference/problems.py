"""What can go wrong with a request or with one report, from the protocol's own tables."""

from __future__ import annotations

from deniable_shared.wire.problems import PROBLEMS, ReportError
from site_reference.markdown import code, table


def of_requests() -> str:
    """A row for each problem document."""
    head = ["type (`urn:deniable:problem:…`)", "status", "retry", "meaning"]
    return table(
        head,
        [
            [code(slug), str(kind.status), "yes" if kind.retry else "no", kind.title]
            for slug, kind in PROBLEMS.items()
        ],
    )


def of_reports() -> str:
    """A row for each code of the answer to one report."""
    rows = [[code(f"0x{error:02X}"), code(error.slug)] for error in ReportError]
    return table(["code", "name in counters and logs"], rows)
