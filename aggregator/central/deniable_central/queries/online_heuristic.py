"""The plan of an online session without a proven error bound below 1.

    c = εU/64, from 1 to 32        T = U · max(1/5, 3σ)        ε1 : ε2 : ε3 = 1 : 4 : 5

σ is the standard deviation of an answer from earlier randomization, as a share. c and T were the
best in simulations of random questions: fewer lessons teach too little, more are too noisy. Below
3σ a lesson would teach noise. Privacy is that of any `OnlinePlan`; the error has no bound below 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable_central.queries.online_plan import OnlinePlan, SessionDemand
from deniable_central.samplers.noise import SMALLEST_DECAY
from deniable_central.selection.privacy_parameters import Epsilon, privacy_parameters
from deniable_shared.errors import ParameterError

_MOST_UPDATES = 32
_UNITS_A_LESSON = 64
_LEAST_THRESHOLD = 0.2
_DEVIATIONS = 3
_SPLIT = (Fraction(1, 10), Fraction(4, 10), Fraction(5, 10))


def heuristic_plan(demand: SessionDemand, *, epsilon: Epsilon, deviation: float) -> OnlinePlan:
    """Return a plan for few rows; `deviation` is σ.

    Its `error` is 1 unless a smaller one is proven.

    Raises ParameterError if ε is too small for noise that can be drawn.
    """
    exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
    updates = min(max(round(float(exact) * demand.unit / _UNITS_A_LESSON), 1), _MOST_UPDATES)
    share = max(_LEAST_THRESHOLD, _DEVIATIONS * deviation)
    of_threshold, of_test, of_answer = (part * exact for part in _SPLIT)
    epsilons = (of_threshold, of_test, of_answer)
    plan = OnlinePlan(demand, epsilons, updates, math.ceil(share * demand.unit))
    if min(plan.decays) < SMALLEST_DECAY:
        raise ParameterError(
            f"epsilon must be larger where one row moves an answer by up to {demand.moves:,}, "
            f"got {float(exact):g}"
        )
    return plan
