"""Whether the service can serve, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deniable_aggregator.documents.collections import ReadyDocument
from deniable_aggregator.problem import Problem
from deniable_aggregator.readiness import Finding

__all__ = ["ready"]

RETRY_SECONDS = 5


def ready(findings: Iterable[Finding], suspended: Sequence[str]) -> ReadyDocument:
    """What each check found; raises Problem("unavailable") where one of them is not ok.

    `suspended` has the reasons for which uploads wait.
    """
    known = tuple(findings)
    checks = {finding.check: finding.said for finding in known}
    wrong = [f"{finding.check} {finding.said}" for finding in known if not finding.ok]
    if wrong:
        raise Problem(
            "unavailable",
            f"not ready: {'; '.join(wrong)}",
            retry_after=RETRY_SECONDS,
            checks=checks,
            suspended=suspended,
        )
    return ReadyDocument("ready", checks)
