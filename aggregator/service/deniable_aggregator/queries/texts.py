"""Estimates of texts: the discovered ones, or how often given texts occur."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import UnsetType

from deniable_aggregator.queries.tables import LabelledEstimates
from deniable_estimators.inference.heavy_hitters import find_heavy_hitters
from deniable_estimators.inference.texts import TextEstimates, TextTally, estimate_texts
from deniable_gateway.problem import refuse
from deniable_shared.domains import Text
from deniable_shared.errors import DomainError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.queries.pooled_tallies import PooledTally
    from deniable_estimators.inference.protocols import TextEstimator


def check_candidates(collection: Collection, candidates: Sequence[str]) -> None:
    """Raises invalid-argument unless they are answers of a collection of texts."""
    domain = collection.manifest.domain
    if isinstance(domain, Text):
        _encoded(domain, candidates)
    elif candidates:
        accepted = "left out: the answers of this collection are listed"
        raise refuse("candidate", accepted=accepted, given=candidates[0])


def refuse_test_of_discovered_texts(collection: Collection, question: EstimatesArguments) -> None:
    """Raises invalid-argument for `significant` without candidates: discovered texts all are."""
    if isinstance(question.significant, UnsetType) or question.candidate:
        return
    if isinstance(collection.manifest.domain, Text):
        accepted = "left out without a candidate: every discovered text is significant"
        raise refuse("significant", accepted=accepted, given=question.significant)


def text_estimates(
    collection: Collection, reports: PooledTally, question: EstimatesArguments
) -> LabelledEstimates:
    """Estimates of the given texts in order; without any, of the discovered texts."""
    estimator, domain = collection.estimator, collection.manifest.domain
    if estimator.estimand != "texts" or not isinstance(domain, Text):
        raise ParameterError(f"texts must be those of a collection of texts, got {domain.type}")
    candidates = _encoded(domain, question.candidate)
    estimates = _estimates(cast("TextEstimator", estimator), reports, question, candidates)
    return LabelledEstimates(
        (estimates.estimate,),
        [text.decode() for text in estimates.texts],
        reports=estimates.reports.tolist(),
        evidence="all" if candidates else "held-out",
    )


def _encoded(domain: Text, texts: Sequence[str]) -> list[bytes]:
    """The texts as bytes, without duplicates."""
    encoded: dict[bytes, None] = {}
    for text in texts:
        try:
            encoded[domain.encode(text)] = None
        except DomainError as error:
            given = ascii(text)
            raise refuse("candidate", accepted=f"an answer: {error}", given=given) from error
    return list(encoded)


def _estimates(
    estimator: TextEstimator,
    reports: PooledTally,
    question: EstimatesArguments,
    candidates: Sequence[bytes],
) -> TextEstimates:
    epochs = len(reports.epochs)
    if not candidates:
        return find_heavy_hitters(
            estimator, reports.tally, reports.n, confidence=question.confidence, epochs=epochs
        )
    counts, _ = estimator.checked(reports.tally, reports.n)
    return estimate_texts(
        TextTally(estimator, counts),
        candidates,
        held_out=False,
        confidence=question.confidence,
        epochs=epochs,
        family=question.family,
    )
