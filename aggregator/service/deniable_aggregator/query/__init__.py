"""Ask a running service from Python: estimates with their intervals as rows, frames and plots.

    import deniable_aggregator.query as deniable

    service = deniable.connect("https://deniable.example.org", token)
    service.estimates("settings").to_pandas()
    service.series("settings", labels=["dark_mode"]).plot()

pandas, pyarrow and matplotlib are loaded on first use: the extras `query` and `arrow`.

* QueryError
  x ServiceError      the service refused; .slug, .detail and .retry say why
  x UnreachableError  no deniable service answered
  x MissingExtraError a library is missing; the message says what to install
"""

from __future__ import annotations

from deniable_aggregator.client.errors import (
    MissingExtraError,
    QueryError,
    ServiceError,
    UnreachableError,
)
from deniable_aggregator.query.rows import Estimates, Rows
from deniable_aggregator.query.service import Service, connect

__all__ = [
    "Estimates",
    "MissingExtraError",
    "QueryError",
    "Rows",
    "Service",
    "ServiceError",
    "UnreachableError",
    "connect",
]
