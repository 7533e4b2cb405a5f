"""The usual largest error of MWEM over a workload: all runs at once, in floats."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.error_simulation import (
    Population,
    runs_for,
    uniforms,
    worst,
)
from deniable_central.queries.mwem import STEP
from deniable_central.samplers.noise import two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext, TypicalError
    from deniable_aggregator.releases.kinds.joint_readings import JointReading
    from deniable_central.queries import Mwem
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins

_STEEPNESS = (0, 1, 2)
_STEPS = 16
"""This many steps of a matrix product take as long as one array element."""


def workload_errors(
    context: ReleaseContext,
    reading: JointReading,
    linear: Mwem,
    request: Mapping[str, object],
    *,
    quantity: str,
) -> tuple[TypicalError, ...]:
    """The usual largest error; empty if simulating takes too long."""
    queries = linear.workload.matrix.astype(np.float64)
    moves = max(1, reading.moves(linear.workload.matrix))
    unit = float(context.n * reading.gain)

    def errors(people: Population, observed: Floats, coins: Coins) -> Floats:
        exponents = np.zeros((len(observed), context.domain.size))
        weights = _softmax(exponents)
        total = weights.copy()
        rows = np.arange(len(observed))
        for _ in range(linear.rounds):
            off = np.abs(observed - weights @ queries.T * unit)
            gumbel = -np.log(-np.log(uniforms(off.shape, coins)))
            worst_query = (off * float(linear.share / (2 * moves)) + gumbel).argmax(axis=1)
            noise = two_sided_geometric(linear.share / moves, len(rows), coins)
            measured = np.clip((observed[rows, worst_query] + noise) / unit, 0, 1)
            selected = queries[worst_query]
            step = STEP * (measured - (weights * selected).sum(axis=1))
            exponents += step[:, None] * selected
            weights = _softmax(exponents)
            total += weights
        mean = total / (linear.rounds + 1)
        return np.asarray(np.abs((mean - people.shares) @ queries.T).max(axis=1))

    each = 2 + context.domain.size // _STEPS
    work = len(_STEEPNESS) * linear.rounds * len(queries) * each
    return worst(
        quantity,
        context,
        request,
        runs=runs_for(work),
        populations=[Population.steep(context.domain.size, each) for each in _STEEPNESS],
        errors=errors,
        simulator=partial(reading.simulator, linear.workload.matrix),
    )


def _softmax(exponents: Floats) -> Floats:
    """Row by row."""
    weights: Floats = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
