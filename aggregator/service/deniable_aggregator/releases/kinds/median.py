"""`median`: the debiased median or another quantile without added noise, or nothing.

Released is the first label at or below which a share `quantile` of the answers lies once debiased
(`propose_first_crossing`), by propose-test-release: (ε, δ)-DP, and no noise in the answer. The raw
median of randomized answers would be drawn to the middle label, the more the smaller the local ε;
debiasing by public constants keeps the distance that the test needs. What the devices' own noise
leaves unsure is in the error bar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    delta_text,
    read_epsilon,
    read_share,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE
from deniable_aggregator.releases.kinds.ordered_scores import Quantile, propose_first_crossing
from deniable_aggregator.releases.kinds.selection import read_quantile
from deniable_central.release import ErrorBar
from deniable_central.stability import StabilityTest
from deniable_central.stability.parameters import read_delta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.number_scores import RangeQuantile
    from deniable_central.guarantee import Guarantee
    from deniable_central.pmf import Pmf
    from deniable_shared.randomness.coins import Coins

PARAMETERS = (
    Parameter("quantile", 'a share in (0, 1), like "0.9"', "0.5"),
    EPSILON,
    Parameter("delta", 'a decimal text like "1e-6", from 1e-24 to 0.5'),
)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedMedian:
    """A valid request for a stable quantile: see `contract.PreparedRelease`."""

    mechanism: ClassVar[str] = "median"
    version: ClassVar[int] = 1

    parameters: Mapping[str, object]
    score: Quantile | RangeQuantile
    test: StabilityTest
    live: bool = False

    @property
    def law(self) -> str:
        return f"stable quantile, {self.test.law}"

    @property
    def guarantee(self) -> Guarantee:
        return self.test.guarantee

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """From the devices' noise alone; one answer for the rounding of ranks to whole reports."""
        far = self.score.local(1 - CONFIDENCE) + self.score.length(0)
        return (ErrorBar(self.score.unit, 0.0, far, CONFIDENCE),)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        proposal = propose_first_crossing(self.score, tallies.counts)
        drawn = self.test.release(proposal, coins).result
        label = None if drawn is None else self.score.candidates[drawn]
        needed = self.test.distance_for(CONFIDENCE)
        result: dict[str, object] = {"label": label, "index": drawn, "distance_needed": needed}
        if self.live:
            result["poisoning_radius"] = max(proposal.distance - 1, 0)
        return ReleaseResult(result, self.expected)

    def pmf(self, tallies: Tallies) -> Pmf[int | None]:
        """The certified distribution of the index: it depends on the data, so never publish it."""
        return self.test.pmf(propose_first_crossing(self.score, tallies.counts))


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedMedian:
    """The prepared release. Raises ParameterError, or CentralError for a δ that does not fit."""
    complete = with_defaults("median", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    delta = read_delta(complete["delta"])
    quantile = read_share("quantile", complete["quantile"], whole=False)
    score = read_quantile(context, quantile)
    parameters = {
        "quantile": decimal_text(quantile),
        "epsilon": decimal_text(epsilon),
        "delta": delta_text(delta),
    }
    test = StabilityTest.of(epsilon=epsilon, delta=delta)
    return PreparedMedian(parameters, score, test, context.live)
