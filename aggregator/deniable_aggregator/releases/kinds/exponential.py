"""`exponential`: one label of high score, by the exponential mechanism; composes best.

Bounded range, and so ρ_BR: about a quarter of what another ε-DP release costs in zCDP.
"""

from __future__ import annotations

from collections.abc import Mapping

from deniable_aggregator.central.selection import Exponential, shortfall
from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    completed,
    read_epsilon,
    spelled,
)
from deniable_aggregator.releases.kinds.contract import Facts
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.selection import (
    SCORE_PARAMETERS,
    Selecting,
    declared,
    named,
    read_score,
)

PARAMETERS = (*SCORE_PARAMETERS, EPSILON)
VERSION = 1


def plan(arguments: Mapping[str, object], facts: Facts) -> Selecting[int]:
    """ParameterError for arguments that are no request over these facts."""
    complete = completed("exponential", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    score, parameters = read_score(facts, arguments, complete)
    declaration = declared(score, epsilon)
    candidates, beta = len(score.candidates), (1 - CONFIDENCE) / 2
    levels = shortfall(declaration, candidates=candidates, beta=beta)
    selector = Exponential.of(declaration)
    return Selecting(
        mechanism="exponential",
        version=VERSION,
        parameters={**parameters, "epsilon": spelled(epsilon)},
        expected=selection_bars(score, levels),
        score=score,
        selector=selector,
        show=named,
        radius=selector.poisoning_radius if facts.live and candidates > 1 else None,
    )
