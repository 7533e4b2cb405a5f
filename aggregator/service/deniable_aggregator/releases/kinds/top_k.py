"""`top-k`: several of the most common labels, by k draws of the exponential mechanism at ε/k each.

For a collection of texts it chooses from a public list: see `texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    read_whole,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter, ReleaseContext
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.scores import Mode
from deniable_aggregator.releases.kinds.selection import PreparedSelection, declared, radius_of
from deniable_aggregator.releases.kinds.text_lists import (
    TEXTS,
    TextMode,
    read_texts,
    text_reading,
)
from deniable_central.selection import TopK, shortfall
from deniable_shared.domains import Text
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PICKS = 1000
_FEWEST = 2
PARAMETERS = (
    Parameter("k", f'how many labels, like "2", from 1 to {MOST_PICKS:,}'),
    Parameter("texts", f"with texts: {TEXTS.accepted}", ""),
    EPSILON,
)
VERSION = 1
_UNIT = "true answers of each label below the best then left"


def prepare(
    arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedSelection[tuple[int, ...]]:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("top-k", PARAMETERS, arguments)
    epsilon, score = read_epsilon(complete["epsilon"]), _score(complete["texts"], context)
    candidates = len(score.candidates)
    k = read_whole("k", complete["k"], low=1, high=min(candidates, MOST_PICKS))
    privacy = declared(score, epsilon)
    beta = (1 - CONFIDENCE) / 2 / k  # so that all k bars hold together
    levels = shortfall(privacy.share(k), candidates=candidates, beta=beta)
    return PreparedSelection(
        mechanism="top-k",
        version=VERSION,
        parameters={"k": k, **_listed(score), "epsilon": decimal_text(epsilon)},
        expected=selection_bars(score, levels, unit=_UNIT),
        score=score,
        selector=TopK(privacy, k),
        show=_picks_document,
        radius=radius_of(context, privacy, candidates, picks=k),
    )


def _score(texts: object, context: ReleaseContext) -> Mode | TextMode:
    """The score of all labels, or of the listed texts."""
    if not isinstance(context.domain, Text):
        if texts:
            raise ParameterError("texts needs a collection of texts: leave it out")
        return Mode.of(context)
    listed = read_texts("top-k", texts, context)
    if len(listed) < _FEWEST:
        raise ParameterError("texts must list at least 2 to choose from, got 1")
    return TextMode(listed, text_reading(context, listed))


def _listed(score: Mode | TextMode) -> dict[str, object]:
    return {"texts": list(score.texts)} if isinstance(score, TextMode) else {}


def _picks_document(
    picks: tuple[int, ...], candidates: tuple[str | None, ...]
) -> Mapping[str, object]:
    return {"labels": [candidates[pick] for pick in picks], "indices": list(picks)}
