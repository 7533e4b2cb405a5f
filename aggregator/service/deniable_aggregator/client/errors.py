"""The errors of a request, each with a remedy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import AggregatorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

COMMAND_CURES = {"unauthorized": "set DENIABLE_TOKEN"}
"""Problem → the remedy at the command line, if the service's message has none."""


NOTEBOOK_CURES = {
    "unauthorized": "give connect() a valid token: deniable access tokens new --role viewer",
    "forbidden": "ask for a token of that role, or for this collection",
    "too-few-reports": "widen first and last, or wait for more reports",
    "unknown-collection": "service.collections() lists the collections",
    "read-refused": "service.releases() lists its releases",
}
"""Problem → the remedy in a notebook, if the service's message has none."""


class QueryError(AggregatorError):
    """The root of the errors of requests."""


class UnreachableError(QueryError):
    """No deniable service answers at the address."""


class ServiceError(QueryError):
    """The service refused. `slug`: the problem type; `retry`: the same request may pass later."""

    def __init__(
        self, title: str, detail: str, *, slug: str, status: int, retry: bool, cure: str = ""
    ) -> None:
        message = f"{title}: {detail}" if detail else title
        super().__init__(f"{message} ({cure})" if cure else message)
        self.title = title
        self.detail = detail
        self.slug = slug
        self.status = status
        self.retry = retry


def refusal(answer: httpx.Response, cures: Mapping[str, str]) -> ServiceError:
    """The error of a problem document, or of the status if the answer has none."""
    try:
        document = json.loads(answer.content)
    except ValueError:
        document = None
    problem = document if isinstance(document, dict) else {}
    slug = str(problem.get("type", "")).rpartition(":")[2]
    return ServiceError(
        str(problem.get("title") or f"HTTP {answer.status_code} {answer.reason_phrase}"),
        str(problem.get("detail") or ""),
        slug=slug,
        status=answer.status_code,
        retry=problem.get("retry") is True,
        cure=cures.get("unauthorized" if answer.status_code == 401 else slug, ""),
    )


class MissingExtraError(QueryError, ImportError):
    """A library that is needed is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"this needs {library}, which is not installed: "
            f'pip install "deniable-aggregator[{extra}]"'
        )
