"""What can go wrong with a question, each with its cure."""

from __future__ import annotations

from deniable_aggregator.errors import AggregatorError

__all__ = ["MissingExtraError", "QueryError", "ServiceError", "UnreachableError"]

CURES = {
    "unauthorized": "give connect() a valid token: deniable tokens new --role viewer",
    "forbidden": "ask for a token of that role, or for this collection",
    "too-few-reports": "widen first and last, or wait for more reports",
    "unknown-collection": "service.collections() lists what there is",
    "read-refused": "service.releases() lists what was released of it",
}
"""Problem → what helps, where its own words do not say it."""


class QueryError(AggregatorError):
    """No answer."""


class UnreachableError(QueryError):
    """Nothing at this address speaks the protocol."""


class MissingExtraError(QueryError, ImportError):
    """A library that this takes is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"this takes {library}, which is not installed: "
            f'pip install "deniable-aggregator[{extra}]"'
        )


class ServiceError(QueryError):
    """The service said no. `retry` says whether the same question can be answered later."""

    def __init__(self, title: str, detail: str, *, slug: str, status: int, retry: bool) -> None:
        cure = CURES.get(slug, "")
        said = f"{title}: {detail}" if detail else title
        super().__init__(f"{said} ({cure})" if cure else said)
        self.title = title
        self.detail = detail
        self.slug = slug
        self.status = status
        self.retry = retry
