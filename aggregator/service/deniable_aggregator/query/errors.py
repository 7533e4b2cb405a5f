"""What can go wrong with a question, each with its cure."""

from __future__ import annotations

from deniable_aggregator.client.errors import QueryError

__all__ = ["CURES", "MissingExtraError"]

CURES = {
    "unauthorized": "give connect() a valid token: deniable access tokens new --role viewer",
    "forbidden": "ask for a token of that role, or for this collection",
    "too-few-reports": "widen first and last, or wait for more reports",
    "unknown-collection": "service.collections() lists what there is",
    "read-refused": "service.releases() lists what was released of it",
}
"""Problem → what helps in a notebook, where its own words do not say it."""


class MissingExtraError(QueryError, ImportError):
    """A library that this takes is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"this takes {library}, which is not installed: "
            f'pip install "deniable-aggregator[{extra}]"'
        )
