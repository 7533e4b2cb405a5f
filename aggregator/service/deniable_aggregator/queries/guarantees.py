"""Turns guarantees, limits and spending into documents. Costs round up, limits round down.

Also the privacy that a relay adds to reports, for the document of estimates.
"""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from deniable_aggregator.collections.planning.anonymity import LIARS, shuffle_anonymity
from deniable_aggregator.documents.estimates import AnonymityDocument
from deniable_aggregator.documents.releases import CostDocument, RemainingDocument
from deniable_central.guarantee import Guarantee, at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.collections.registry import Collection
    from deniable_central.accounting import Limit, Spending


def guarantee_document(guarantee: Guarantee) -> CostDocument:
    """ε, ρ and δ; null for those that the mechanism does not claim."""
    return CostDocument(
        epsilon=_decimal_text(guarantee.epsilon, at_most),
        rho=_decimal_text(guarantee.rho, at_most),
        delta=at_most(guarantee.delta),
    )


def remaining_document(limit: Limit, spent: Spending) -> RemainingDocument:
    """Limit, spent and left. A release is admitted if enough ε is left, or ρ if it has a limit."""
    return RemainingDocument(
        limit=limit_document(limit), spent=spending_document(spent), left=_left(limit, spent)
    )


def limit_document(limit: Limit) -> CostDocument:
    """A limit as a document. `delta` limits the sum of δ; `rho` null: only ε counts."""
    return CostDocument(
        epsilon=at_least(limit.epsilon),
        rho=_decimal_text(limit.rho, at_least),
        delta=at_least(limit.own_delta),
    )


def spending_document(spent: Spending) -> CostDocument:
    """Spending as a document. `epsilon` null: a release without a finite ε was made."""
    return CostDocument(
        epsilon=_decimal_text(spent.epsilon, at_most),
        rho=at_most(spent.rho),
        delta=at_most(spent.delta),
    )


def _left(limit: Limit, spent: Spending) -> CostDocument:
    rho = None if limit.rho is None else _rest(limit.rho, spent.rho)
    return CostDocument(
        epsilon=at_least(_rest(limit.epsilon, spent.epsilon)),
        rho=_decimal_text(rho, at_least),
        delta=at_least(_rest(limit.own_delta, spent.delta)),
    )


def _rest(limit: Fraction, spent: Fraction | None) -> Fraction:
    return Fraction(0) if spent is None else max(limit - spent, Fraction(0))


def _decimal_text(value: Fraction | None, rounded: Callable[[Fraction], str]) -> str | None:
    return None if value is None else rounded(value)


def relay_anonymity(
    collection: Collection, batch: int, liars: float | UnsetType
) -> AnonymityDocument | UnsetType:
    """UNSET if anyone may send reports (`batch` 0), or if reports identify people (vouchers)."""
    if not batch or collection.first.identified:
        return UNSET
    anonymity = shuffle_anonymity(
        collection.mechanism,
        batch=batch,
        liars=LIARS if isinstance(liars, UnsetType) else liars,
        repeat=collection.manifest.repeat,
        lifetime=collection.first.epsilon_lifetime,
    )
    return msgspec.convert(asdict(anonymity), AnonymityDocument)
