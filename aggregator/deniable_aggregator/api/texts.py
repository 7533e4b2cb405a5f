"""Texts as an analyst asks for them: those that were found, or how often given ones occur."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_aggregator.api.arguments import refuse
from deniable_aggregator.api.documents import EstimatesArguments
from deniable_aggregator.estimate.heavy_hitters import found
from deniable_aggregator.estimate.texts import MOST_TEXTS, Evidence, Texts, tell
from deniable_aggregator.estimators.prefix_hash import PrefixHashEstimator
from deniable_aggregator.reading import Reading
from deniable_aggregator.registry import Collection
from deniable_shared.domain import Text
from deniable_shared.errors import DomainError

__all__ = ["ACCEPTED", "candidates_asked", "shown_texts"]

ACCEPTED = f"up to {MOST_TEXTS:,} texts that an answer may be, of a collection of texts"


def candidates_asked(collection: Collection, candidates: Sequence[str]) -> list[bytes]:
    """The encoded texts, each once. Raises invalid-argument."""
    domain = collection.manifest.domain
    if not isinstance(domain, Text):
        if candidates:
            accepted = "left out: the answers to this collection are listed"
            raise refuse("candidate", accepted=accepted, given=candidates[0])
        return []
    return list(dict.fromkeys(_encoded(domain, text) for text in candidates))


def _encoded(domain: Text, text: str) -> bytes:
    try:
        return domain.encode(text)
    except DomainError as error:
        given = ascii(text)
        raise refuse("candidate", accepted=f"an answer: {error}", given=given) from error


def shown_texts(
    estimator: PrefixHashEstimator,
    reading: Reading,
    query: EstimatesArguments,
    candidates: Sequence[bytes],
) -> Texts:
    """Given texts in their order; without any, those that were found."""
    epochs = len(reading.epochs)
    if not candidates:
        return found(
            estimator, reading.tally, reading.n, confidence=query.confidence, epochs=epochs
        )
    counts, _ = estimator.checked(reading.tally, reading.n)
    return tell(
        Evidence(estimator, counts),
        candidates,
        held_out=False,
        confidence=query.confidence,
        epochs=epochs,
        family=query.family,
    )
