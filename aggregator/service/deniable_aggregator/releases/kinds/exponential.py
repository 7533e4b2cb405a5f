"""`exponential`: one label of high score, by the exponential mechanism; composes best.

Bounded range, and so ρ_BR: about a quarter of what another ε-DP release costs in zCDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.selection import (
    SCORE_PARAMETERS,
    PreparedSelection,
    declared,
    named,
    read_score,
)
from deniable_central.selection import Exponential, shortfall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext

PARAMETERS = (*SCORE_PARAMETERS, EPSILON)
VERSION = 1


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSelection[int]:
    """ParameterError for arguments that are no request in this context."""
    complete = with_defaults("exponential", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    score, parameters = read_score(context, arguments, complete)
    privacy = declared(score, epsilon)
    candidates, beta = len(score.candidates), (1 - CONFIDENCE) / 2
    levels = shortfall(privacy, candidates=candidates, beta=beta)
    selector = Exponential.of(privacy)
    return PreparedSelection(
        mechanism="exponential",
        version=VERSION,
        parameters={**parameters, "epsilon": decimal_text(epsilon)},
        expected=selection_bars(score, levels),
        score=score,
        selector=selector,
        show=named,
        radius=selector.poisoning_radius if context.live and candidates > 1 else None,
    )
