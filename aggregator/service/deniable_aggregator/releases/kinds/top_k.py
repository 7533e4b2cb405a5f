"""`top-k`: several labels, as drawn, by k draws of the exponential mechanism at ε/k each."""

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
from deniable_aggregator.releases.kinds.selection import PreparedSelection, declared
from deniable_central.selection import TopK, shortfall

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PICKS = 1000
PARAMETERS = (
    Parameter("k", f'how many labels, like "2", from 1 to {MOST_PICKS:,} or all there are'),
    EPSILON,
)
VERSION = 1
_UNIT = "true answers of each label below the best then left"


def prepare(
    arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedSelection[tuple[int, ...]]:
    """ParameterError for arguments that are no request in this context."""
    complete = with_defaults("top-k", PARAMETERS, arguments)
    epsilon, score = read_epsilon(complete["epsilon"]), Mode.of(context)
    candidates = len(score.candidates)
    k = read_whole("k", complete["k"], low=1, high=min(candidates, MOST_PICKS))
    privacy = declared(score, epsilon)
    beta = (1 - CONFIDENCE) / 2 / k  # all k bars hold together
    levels = shortfall(privacy.share(k), candidates=candidates, beta=beta)
    return PreparedSelection(
        mechanism="top-k",
        version=VERSION,
        parameters={"k": k, "epsilon": decimal_text(epsilon)},
        expected=selection_bars(score, levels, unit=_UNIT),
        score=score,
        selector=TopK(privacy, k),
        show=_picks_document,
    )


def _picks_document(
    picks: tuple[int, ...], candidates: tuple[str | None, ...]
) -> Mapping[str, object]:
    return {"labels": [candidates[pick] for pick in picks], "indices": list(picks)}
