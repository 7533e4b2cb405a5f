"""`sample-aggregate`: the answer that most groups of reports agree on, or nothing.

Reports are tallied in k disjoint cohorts by a keyed hash of their ids. Each cohort with reports
gives its debiased mode or quantile. The answer of most cohorts is released by
propose-test-release: (ε, δ)-DP, without noise in the answer.

Whom that protects. Neighbours replace one report and leave it in its cohort, so one answer of k
changes: c0 = 1, and (ε, δ) is the price of one report, which is what the ledger charges. J reports
of one installation lie in up to J cohorts; for them the same release is a promise of a group of J,
(Jε, δ(e^(Jε) − 1)/(e^ε − 1)), which `accounting.promise` prints. With distances in units of c0 = J
answers an installation would have (ε, δ), but a single report no less than that, as distances are
rounded: the ledger would charge and promise J times what is given. To get (ε, δ') for an
installation, request ε/J: it takes about as many cohorts.

    each cohort has s ≥ n/k − √(2(n/k)·ln(k/β0)) reports, except with probability β0 (Chernoff)
    its shares of d labels are within √(ln(2kd/β1)/(2s)) of all reports' (Hoeffding, Serfling)
    and its debiased shares within τ of its own, except with prob. β2 (`label_counts.deviation`)

So the label of any cohort trails the most frequent of all by twice their sum at most, and the
label of a quantile lies within their sum of its rank.

Source: docs/mathematics/releases-over-sums.md, Cohorts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    delta_text,
    read_epsilon,
    read_name,
    read_share,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TallyPart,
)
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.ordered_scores import widest_share
from deniable_central.release import ErrorBar
from deniable_central.stability import (
    DeltaError,
    Proposal,
    SampleAggregate,
    StabilityTest,
    agreement,
)
from deniable_central.stability.parameters import read_delta
from deniable_shared.domains import Choice, Number
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_central.guarantee import Guarantee
    from deniable_central.pmf import Pmf
    from deniable_central.stability.sample_aggregate import BlockAnswer
    from deniable_shared.randomness.coins import Coins

PARAMETERS = (
    Parameter("answer", "the answer of each cohort: mode or quantile", "mode"),
    Parameter("quantile", 'with answer quantile: a share in (0, 1), like "0.9"', "0.5"),
    EPSILON,
    Parameter("delta", 'a decimal text like "1e-6", from 1e-24 to 0.5'),
)
_UNITS = {
    "mode": "share of answers below the most frequent label",
    "quantile": "share of answers from the rank",
}


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSampleAggregate:
    """A valid request for the answer of most cohorts: see `contract.PreparedRelease`."""

    mechanism: ClassVar[str] = "sample-aggregate"
    version: ClassVar[int] = 1

    context: ReleaseContext
    parameters: Mapping[str, object]
    test: StabilityTest

    @property
    def law(self) -> str:
        return f"sample and aggregate, {self.context.cohorts} cohorts, {self.test.law}"

    @property
    def guarantee(self) -> Guarantee:
        return self.test.guarantee

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """The error of the released label, if one is released."""
        answer = str(self.parameters["answer"])
        twice = 2 if answer == "mode" else 1
        return (ErrorBar(_UNITS[answer], 0.0, min(1.0, twice * self._off()), CONFIDENCE),)

    def _off(self) -> float:
        """The most that a cohort's debiased share differs from the share of all answers."""
        each, sums = (1 - CONFIDENCE) / 3, self.context.cohorts * self.context.domain.size
        size = self.context.n / self.context.cohorts
        least = math.floor(size - math.sqrt(2 * size * math.log(self.context.cohorts / each)))
        if least < 1:
            return 1.0
        label_counts = LabelCounts.of(replace(self.context, n=least))
        width = (
            label_counts.width
            if self.parameters["answer"] == "mode"
            else widest_share(label_counts)
        )
        local = label_counts.deviation(width, sums=sums, beta=each) / least
        return local + math.sqrt(math.log(2 * sums / each) / (2 * least))

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        answers = self._answers(tallies)
        drawn = SampleAggregate(self.test).release(answers, coins).result
        label = None if drawn is None else self.context.domain.labels[int(drawn)]
        needed = 2 * self.test.distance_for(CONFIDENCE) - 1
        result = {"label": label, "index": drawn, "cohorts_ahead_needed": needed}
        if self.context.live:  # anyone may compute it from the counts there
            result["poisoning_radius"] = max(agreement(answers).distance - 1, 0)
        return ReleaseResult(result, self.expected)

    def pmf(self, tallies: Tallies) -> Pmf[BlockAnswer | None]:
        """The certified distribution of the index: it depends on the data, so never publish it."""
        return self.test.pmf(self.proposal(tallies))

    def proposal(self, tallies: Tallies) -> Proposal[BlockAnswer]:
        """The answer of most cohorts, and how many reports must change to change it."""
        return agreement(self._answers(tallies))

    def _answers(self, tallies: Tallies) -> list[int]:
        return [self._answer(part) for part in tallies.by_cohort().values() if part.n]

    def _answer(self, part: TallyPart) -> int:
        label_counts = LabelCounts.of(replace(self.context, n=part.n))
        seen = label_counts(part.counts)
        if self.parameters["answer"] == "mode":
            return int(seen.argmax())
        below = np.cumsum(label_counts.frequencies(seen))
        below[-1] = 1.0
        return int((below >= float(str(self.parameters["quantile"]))).argmax())


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSampleAggregate:
    """The prepared release. Raises ParameterError, or CentralError for a δ that does not fit."""
    complete = with_defaults("sample-aggregate", PARAMETERS, arguments)
    _check_cohorts(context)
    parameters = _read_answer(context, arguments, complete)
    epsilon, delta = read_epsilon(complete["epsilon"]), read_delta(complete["delta"])
    test = StabilityTest.of(epsilon=epsilon, delta=delta)
    _check_useful(test, context.cohorts)
    parameters |= {"epsilon": decimal_text(epsilon), "delta": delta_text(delta)}
    return PreparedSampleAggregate(context, parameters, test)


def _check_cohorts(context: ReleaseContext) -> None:
    if context.cohorts < 2:
        raise ParameterError(
            "sample-aggregate needs reports that are counted in groups, but this collection counts "
            "them in 1: set cohorts = 64 in the manifest of a collection, or use median or "
            "exponential"
        )


def _read_answer(
    context: ReleaseContext, given: Mapping[str, object], complete: Mapping[str, object]
) -> dict[str, object]:
    answer = read_name("answer", complete["answer"], _UNITS)
    if context.domain.size < 2:
        raise ParameterError(f"{answer} needs at least 2 labels, this domain has 1")
    LabelCounts.of(context)
    if answer == "mode":
        if "quantile" in given:
            raise ParameterError("quantile needs answer quantile, not mode: leave it out")
        return {"answer": answer}
    if not isinstance(context.domain, Choice | Number):
        raise ParameterError("quantile needs labels in an order: use answer mode")
    share = read_share("quantile", complete["quantile"], whole=False)
    return {"answer": answer, "quantile": decimal_text(share)}


def _check_useful(test: StabilityTest, cohorts: int) -> None:
    """Raises DeltaError if even cohorts that all agree would rarely release an answer."""
    needed = SampleAggregate(test).blocks_for(0.5, agreeing=Fraction(1))
    if cohorts < needed:
        raise DeltaError(
            f"delta and epsilon need at least {needed:,} cohorts that all agree to release "
            f"anything every second time, this collection has {cohorts:,}: allow a larger epsilon "
            "or delta, or use median or exponential"
        )
