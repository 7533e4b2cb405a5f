"""Weights over a domain, kept as exponents.

They are public, as they depend only on released numbers.

They follow from the queries that taught the session:

    w(v) ∝ e^(−4g·L(v)/scale)      L = Σ ± f over the teaching queries, − if the answer was above

L is a vector of integers, so a resumed session continues exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from deniable_central.queries.online_plan import OnlinePlan
    from deniable_central.queries.workload import Floats, Integers


def softmax(exponents: Floats) -> Floats:
    """Return e^exponents, divided by their sum."""
    weights: Floats = np.exp(exponents - exponents.max())
    weights /= weights.sum()
    return weights


STEP = 4


@dataclass(slots=True, eq=False)
class OnlineWeights:
    """Weights that only `learn` changes; `updates` counts how often."""

    plan: OnlinePlan
    updates: int = 0
    sums: Integers = field(init=False)
    weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.plan.demand.domain, dtype=np.int64)
        self._weigh()

    @property
    def exhausted(self) -> bool:
        """Whether all updates are used up: then every answer is the prediction, and free."""
        return self.updates >= self.plan.updates

    def predict(self, query: Integers) -> int:
        """Return the raw answer by the weights, rounded to an integer."""
        demand = self.plan.demand
        return int(np.rint(float(query @ self.weights) / demand.scale * demand.unit))

    def learn(self, query: Integers, count: int) -> None:
        """Move by a step of 4g towards the raw count that was released."""
        above = count >= self.predict(query)
        self.sums = self.sums - query if above else self.sums + query
        self.updates += 1
        self._weigh()

    def _weigh(self) -> None:
        rate = STEP * self.plan.step / self.plan.demand.scale
        self.weights = softmax(-rate * self.sums.astype(np.float64))
        self.weights.flags.writeable = False
