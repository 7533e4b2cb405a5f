"""`exponential`: the label with the best score, approximately; composes best with other releases.

The exponential mechanism has bounded range, so its zCDP cost ρ_BR is about a quarter of that of
another ε-DP release. A public `prior` gives weights to candidates. It is free, because it does not
depend on the reports.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    EVEN,
    decimal_text,
    read_epsilon,
    read_prior,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.selection import (
    SCORE_PARAMETERS,
    PreparedSelection,
    declared,
    named,
    read_score,
)
from deniable_central.selection import Exponential
from deniable_central.selection.accuracy import tail_length

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext

PARAMETERS = (
    *SCORE_PARAMETERS,
    Parameter("prior", 'a public weight for each label in order, like "5, 1, 1", or even', EVEN),
    EPSILON,
)
VERSION = 1


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSelection[int]:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("exponential", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    score, parameters = read_score(context, arguments, complete)
    privacy = declared(score, epsilon)
    candidates, beta = len(score.candidates), (1 - CONFIDENCE) / 2
    prior = read_prior(complete["prior"], candidates)
    weights = prior or [Fraction(1)] * candidates
    levels = tail_length(privacy.decay(), float(sum(weights) / min(weights)) / beta)
    selector = Exponential.of(privacy, prior or None)
    if prior:
        parameters["prior"] = ", ".join(decimal_text(weight) for weight in prior)
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
