"""The test of propose-test-release: an answer is released if it is far from changing, up to noise.

    D       how many rows must change before the answer changes: it differs by at most 1 between
            neighbours, and is at most 1 on both if their answers differ
    N       two-sided geometric, Pr[N ≥ k] = z^k/(1 + z), z = e^−ε
    rule    the answer itself if D + N > T, else nothing

    (ε, δ)-DP with δ = z^T/(1 + z), for every ε and every T ≥ 1, and no smaller δ' is enough:
    equal answers differ in probability by at most e^ε, different ones need D = D' = 1 to pass.

Dwork, Lei 2009; with Laplace noise and t = εT, δ = e^(ε − t)/2.
Source: docs/mathematics/stability.md, Propose, test, release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_central.errors import DeltaError
from deniable_central.guarantee import Adjacency, Guarantee, round_up
from deniable_central.pmf import Pmf
from deniable_central.release import Release
from deniable_central.samplers.noise import Bounds, tail, two_sided_geometric
from deniable_central.stability.parameters import (
    Delta,
    Epsilon,
    read_delta,
    read_epsilon,
)
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_central.stability.proposals import Answer, Proposal
    from deniable_shared.randomness.coins import Coins

_LARGEST_DISTANCE = 1 << 60  # noise stays below, so a farther answer always passes


@dataclass(frozen=True, slots=True)
class StabilityTest:
    """The mechanism without data: `guarantee` is its cost. Built by `of`.

    Its δ is the exact one of the threshold, rounded up: at most the requested one.
    """

    law: ClassVar[str] = "propose-test-release, two-sided geometric"
    epsilon: Fraction
    threshold: int
    adjacency: Adjacency = Adjacency.REPLACE

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ParameterError(f"epsilon must be positive, got {self.epsilon}")
        if self.threshold < 1:
            raise DeltaError(
                f"threshold must be at least 1, got {self.threshold}: below, the test hides nothing"
            )

    @classmethod
    def of(
        cls, *, epsilon: Epsilon, delta: Delta, adjacency: Adjacency = Adjacency.REPLACE
    ) -> StabilityTest:
        """Return the test of the least threshold that keeps δ; it releases answers most often."""
        exact = read_epsilon(epsilon)
        return cls(exact, _least_threshold(exact, read_delta(delta)), adjacency)

    @property
    def guarantee(self) -> Guarantee:
        _, delta = tail(self.epsilon, self.threshold)
        return Guarantee.approximate(self.epsilon, round_up(delta), self.adjacency)

    def release(
        self, proposal: Proposal[Answer], coins: Coins | None = None, *, of: str = ""
    ) -> Release[Answer | None]:
        """Return the proposed answer, or None: too close to changing, or nothing was proposed.

        A released answer is exactly that of the data, so there is no error bar.
        """
        distance = min(proposal.distance, _LARGEST_DISTANCE)
        noise = int(two_sided_geometric(self.epsilon, 1, coins)[0])
        answer = proposal.answer if distance + noise > self.threshold else None
        return Release(answer, f"{of}, {self.law}" if of else self.law, self.guarantee, ())

    def pmf(self, proposal: Proposal[Answer]) -> Pmf[Answer | None]:
        """Return the certified law of the result: a function of the data, not for release."""
        if proposal.answer is None:
            return Pmf((None,), (Fraction(1),), (Fraction(1),))
        low, high = self.chance(proposal.distance)
        return Pmf((proposal.answer, None), (low, 1 - high), (high, 1 - low))

    def chance(self, distance: int) -> Bounds:
        """Return rational bounds of the probability that an answer at this distance is released."""
        return tail(self.epsilon, self.threshold + 1 - distance)

    def distance_for(self, confidence: float) -> int:
        """The least distance at which an answer is released with this probability, for planning."""
        if not 0.5 <= confidence < 1:
            raise ParameterError(f"confidence must lie in [0.5, 1), got {confidence}")
        wanted = 1 - Fraction(confidence)
        rate = float(self.epsilon)
        distance = self.threshold + max(
            0, math.floor((-math.log(wanted) - math.log1p(math.exp(-rate))) / rate)
        )
        while 1 - self.chance(distance)[0] > wanted:
            distance += 1
        return distance


def _least_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """Return the least T ≥ 1 with z^T/(1 + z) ≤ δ, decided in certified numbers."""
    rate = float(epsilon)
    guess = (-math.log(delta) - math.log1p(math.exp(-rate))) / rate
    threshold = max(1, math.floor(guess) - 1)
    while round_up(tail(epsilon, threshold)[1]) > delta:
        threshold += 1
    return threshold
