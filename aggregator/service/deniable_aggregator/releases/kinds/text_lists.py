"""Public lists of texts: linear sums over them, and a score of each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.contract import Parameter
from deniable_aggregator.releases.kinds.linear_reading import LinearReading
from deniable_estimators.inference.public_texts import PublicTexts, public_texts
from deniable_shared.domains import Text
from deniable_shared.errors import DomainError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_estimators.inference.protocols import Estimator
    from deniable_estimators.inference.public_scores import PublicScores

MOST_TEXTS = 256
TEXTS = Parameter(
    "texts",
    'a public list like "crash, freeze", made without looking at these reports, at most '
    f"{MOST_TEXTS}",
)


def read_texts(kind: str, value: object, context: ReleaseContext) -> tuple[str, ...]:
    """The texts, each once, normalized. Raises ParameterError for texts outside the domain."""
    domain = context.domain
    if not isinstance(domain, Text):
        raise ParameterError(
            f"{kind} needs text answers, and these are of type {domain.type}: use "
            "histogram, or ask for a text in a collection"
        )
    listed = _split(value) if isinstance(value, str) else value
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_TEXTS:
        raise ParameterError(
            f'texts must be a public list of 1 to {MOST_TEXTS} texts, like "crash, freeze", got '
            f"{value!r:.80}: a release does not search for texts, so list those that you expect"
        )
    texts = tuple(_text(each, domain) for each in listed)
    if len({*texts}) != len(texts):
        raise ParameterError(f"texts must each be listed once, got {value!r:.80}")
    return texts


def _split(value: str) -> list[str]:
    return [each.strip() for each in value.split(",")] if value.strip() else []


def _text(value: object, domain: Text) -> str:
    try:
        return str(domain.decode(domain.encode(value)))
    except DomainError as error:
        reason = str(error).removeprefix("value ") if isinstance(value, str) else "must be a text"
        raise ParameterError(f"each of texts {reason}, got {value!r:.80}") from error


def text_reading(context: ReleaseContext, texts: tuple[str, ...]) -> LinearReading:
    """One sum for each text."""
    encoded = [bytes(context.domain.encode(text)) for text in texts]

    def scores_of(estimator: Estimator) -> PublicScores:
        if not isinstance(estimator, PublicTexts):
            raise ParameterError(
                f"central releases are not available for {context.mechanism.id}: read its "
                "estimates instead"
            )
        return public_texts(estimator, encoded)

    return LinearReading.of_scores(context, scores_of)


@dataclass(frozen=True, slots=True, eq=False)
class TextMode:
    """The text of a public list that most people have; see `scores.Score`."""

    texts: tuple[str, ...]
    reading: LinearReading

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return self.texts

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"sensitivity": int(self.reading.ranges.max())}

    @property
    def unit(self) -> str:
        return "true answers below the most frequent text"

    def levels(self, counts: Counts) -> Counts:
        return self.reading(counts)

    def length(self, levels: float) -> float:
        return levels / self.reading.unit

    def local(self, beta: float) -> float:
        return 2 * self.reading.deviation(beta)
