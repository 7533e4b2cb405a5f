"""`noisy-max`: the label with the largest noisy score, without the score.

geometric, exponential   ε-DP; exponential is never worse than `exponential` for one release
gumbel                   the law of `exponential`: the only one that carries ρ_BR
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    read_name,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter, ReleaseContext
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.selection import (
    SCORE_PARAMETERS,
    PreparedSelection,
    declared,
    named,
    radius_of,
    read_score,
)
from deniable_central.samplers.noise import SMALLEST_DECAY
from deniable_central.selection import (
    NoiseDistribution,
    NoisyMax,
    PrivacyParameters,
    shortfall,
)
from deniable_central.selection.accuracy import geometric_tail_length
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETERS = (
    *SCORE_PARAMETERS,
    Parameter("noise", "one of geometric, exponential, gumbel", "exponential"),
    EPSILON,
)
VERSION = 1


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSelection[int]:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("noisy-max", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    noise = NoiseDistribution(read_name("noise", complete["noise"], tuple(NoiseDistribution)))
    score, parameters = read_score(context, arguments, complete)
    privacy = declared(score, epsilon)
    levels = _levels(privacy, noise, len(score.candidates))
    return PreparedSelection(
        mechanism="noisy-max",
        version=VERSION,
        parameters={**parameters, "noise": str(noise), "epsilon": decimal_text(epsilon)},
        expected=selection_bars(score, levels),
        score=score,
        selector=NoisyMax(privacy, noise),
        show=named,
        radius=radius_of(context, privacy, len(score.candidates)),
    )


def _levels(privacy: PrivacyParameters, noise: NoiseDistribution, candidates: int) -> float:
    beta = (1 - CONFIDENCE) / 2
    if noise is not NoiseDistribution.GEOMETRIC:
        return shortfall(privacy, candidates=candidates, beta=beta)
    if privacy.decay() < SMALLEST_DECAY:
        raise ParameterError(
            "epsilon must be larger for geometric noise, as one report moves these scores far: "
            "use noise gumbel or exponential"
        )
    return geometric_tail_length(privacy.decay(), candidates / beta)
