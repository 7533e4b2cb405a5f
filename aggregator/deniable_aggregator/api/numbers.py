"""What a document of estimates says of numbers: mean, quantiles, and how they were clipped."""

from __future__ import annotations

import math
from typing import TypedDict

from deniable_aggregator.api.estimate_documents import ClippedDocument, QuantityDocument
from deniable_aggregator.estimate.quantity import Quantity, mean, quantiles
from deniable_aggregator.reading import Reading
from deniable_aggregator.registry import Collection
from deniable_shared.domain import Number
from deniable_shared.domain.number import decimal_text

__all__ = ["influence_of", "of_numbers"]


class _Numbers(TypedDict, total=False):
    clipped: ClippedDocument
    mean: QuantityDocument
    quantiles: list[QuantityDocument]


def of_numbers(collection: Collection, reading: Reading, confidence: float) -> _Numbers:
    """Nothing for other domains; no mean, no quantiles where the mechanism does not tell them."""
    domain, estimator = collection.manifest.domain, collection.estimator
    if not isinstance(domain, Number):
        return {}
    document = _Numbers(clipped=_clipped(domain))
    epochs = len(reading.epochs)
    middle = mean(estimator, domain, reading.tally, reading.n, confidence=confidence, epochs=epochs)
    if middle is not None:
        document["mean"] = _document(middle)
    found = quantiles(
        estimator, domain, reading.tally, reading.n, confidence=confidence, epochs=epochs
    )
    if found:
        document["quantiles"] = list(map(_document, found))
    return document


def influence_of(collection: Collection, influence: float) -> float:
    """In the units of the domain where a mean alone is told."""
    domain = collection.manifest.domain
    if collection.estimator.tells == "mean" and isinstance(domain, Number):
        return influence * float(domain.high - domain.low)
    return influence


def _clipped(domain: Number) -> ClippedDocument:
    low, high, step = map(decimal_text, (domain.low, domain.high, domain.step))
    return ClippedDocument(low=low, high=high, step=step)


def _document(quantity: Quantity) -> QuantityDocument:
    return QuantityDocument(
        name=quantity.name,
        value=_finite(quantity.value),
        std_error=_finite(quantity.std_error),
        lower=quantity.lower,
        upper=quantity.upper,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
