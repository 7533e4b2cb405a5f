"""The usual largest error of an online session: all runs of `queries.online` at once, in floats.

The questions are up to 100 random sets of labels, each label in half of them; of tables, of cells
of one table each. A person who chooses
questions by earlier answers may see larger errors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.error_simulation import (
    Population,
    coins_of,
    runs_for,
    uniforms,
    worst,
)
from deniable_central.queries.domain_weights import STEP
from deniable_central.samplers.noise import two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext, TypicalError
    from deniable_aggregator.releases.kinds.joint_readings import JointReading
    from deniable_central.queries import OnlinePlan
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins

_STEEPNESS = (0, 1, 2)
_MOST_ASKED = 100


def query_session_errors(
    context: ReleaseContext,
    reading: JointReading,
    plan: OnlinePlan,
    request: Mapping[str, object],
) -> tuple[TypicalError, ...]:
    """The usual largest error; empty if simulating takes too long."""
    count = min(plan.demand.queries, _MOST_ASKED)
    chances = uniforms((count, context.domain.size), coins_of(context, request, "questions"))
    sets = reading.random_questions(chances)
    questions = sets.astype(np.float64)

    def errors(people: Population, answers: Floats, coins: Coins) -> Floats:
        truth = questions @ people.shares
        return _largest_error(plan, answers, questions, truth, coins)

    return worst(
        f"largest error of {count} random questions, as a share",
        context,
        request,
        runs=runs_for(len(_STEEPNESS) * count * (context.domain.size + 64)),
        populations=[Population.steep(context.domain.size, each) for each in _STEEPNESS],
        errors=errors,
        simulator=partial(reading.simulator, sets),
    )


def _largest_error(
    plan: OnlinePlan, answers: Floats, questions: Floats, truth: Floats, coins: Coins
) -> Floats:
    """The largest error of each run over all questions: float64[runs]."""
    runs, unit = len(answers), plan.demand.unit
    of_threshold, of_test, of_answer = plan.decays
    threshold = plan.threshold + two_sided_geometric(of_threshold, runs, coins)
    sums = np.zeros((runs, plan.demand.domain))
    taught, largest = np.zeros(runs), np.zeros(runs)
    weights = _weighed(sums, plan)
    for question, share, answers_of in zip(questions, truth, answers.T, strict=True):
        true = np.rint(answers_of)
        predicted = np.rint(weights @ question * unit)
        noisy = np.abs(true - predicted) + two_sided_geometric(of_test, runs, coins)
        learns = (noisy >= threshold) & (taught < plan.updates)
        noise = two_sided_geometric(of_answer, runs, coins)
        answer = np.where(learns, true + noise, predicted)
        taught += learns
        steps = np.where(answer >= predicted, -1.0, 1.0)[learns]
        sums[learns] += steps[:, None] * question
        weights[learns] = _weighed(sums[learns], plan)
        off = np.abs(np.clip(answer / unit, 0, 1) - share)
        largest = np.maximum(largest, off)
    return largest


def _weighed(sums: Floats, plan: OnlinePlan) -> Floats:
    """The weights of each run, as `queries.online_weights` has them."""
    below = sums - sums.min(axis=1, keepdims=True) if len(sums) else sums
    weights: Floats = np.exp(-STEP * plan.step * below)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
