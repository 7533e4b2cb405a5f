"""Whether the service can serve, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.documents.collections import ReadyDocument
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

RETRY_SECONDS = 5


def readiness_document(checks: dict[str, str], suspended: Sequence[str]) -> ReadyDocument:
    """The checks by name. Raises Problem("unavailable") if one of them is not "ok".

    `suspended`: the reasons why uploads wait.
    """
    wrong = [f"{name} {state}" for name, state in checks.items() if state != "ok"]
    if wrong:
        raise Problem(
            "unavailable",
            f"not ready: {'; '.join(wrong)}",
            retry_after=RETRY_SECONDS,
            checks=checks,
            suspended=suspended,
        )
    return ReadyDocument("ready", checks)
