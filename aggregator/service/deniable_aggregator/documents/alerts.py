"""Documents of alerts: to make one, to list them, and the body of a webhook call."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from deniable_aggregator.documents.comparison import DifferenceDocument, PeriodDocument
from deniable_aggregator.documents.fields import Arguments, Identifier


class NewAlert(Arguments, frozen=True, kw_only=True):
    """A webhook to call when a comparison shows a change."""

    url: Annotated[str, Meta(min_length=9, max_length=500, description="a public https address")]
    periods: Annotated[
        int, Meta(ge=1, le=31, description="1 to 31 periods, compared with as many before them")
    ] = 1
    risk: Annotated[
        float,
        Meta(ge=0.001, le=0.2, description="a probability of any false alert, 0.001 to 0.2"),
    ] = 0.05


class AlertDocument(Struct, frozen=True, kw_only=True):
    """An alert, without the key of its signatures. Times are unix seconds."""

    id: str
    url: str
    periods: int
    risk: Annotated[str, Meta(description="largest probability of any false alert, ever")]
    looks: Annotated[int, Meta(description="the largest number of checks")]
    author: str
    created: int
    ended: int | None


class AlertsDocument(Struct, frozen=True):
    """Every alert of a collection, oldest first."""

    collection: Identifier
    alerts: list[AlertDocument]


class CreatedAlertDocument(AlertDocument, frozen=True, kw_only=True):
    """A new alert; only this document has `secret`, the key of its signatures in hex."""

    secret: str


class AlertCall(Struct, frozen=True, kw_only=True):
    """The body of a webhook call: the differences whose intervals exclude 0.

    `id` is the same in every attempt; `confidence`: that of all intervals of this check together.
    """

    id: str
    alert: str
    collection: Identifier
    name: str
    purpose: str
    created: int
    confidence: float
    unit: str
    before: PeriodDocument
    after: PeriodDocument
    changes: list[DifferenceDocument]
    page: str
