"""Prepared selections: a score over a collection, met by a mechanism of `central.selection`.

Price, distribution and error bars follow from public facts; `draw` computes the scores from the raw
tally, draws, and reveals only the drawn candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from deniable_aggregator.releases.kinds.arguments import decimal_text, read_name, read_share
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TypicalError,
)
from deniable_aggregator.releases.kinds.number_scores import RangeQuantile, reads_ranges
from deniable_aggregator.releases.kinds.ordered_scores import Quantile, Revenue
from deniable_aggregator.releases.kinds.scores import LabelScore, Mode, Score, Threshold
from deniable_aggregator.releases.kinds.selection_errors import noisy_selection_of, selection_errors
from deniable_central.selection import Exponential, PrivacyParameters, privacy_parameters
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from deniable_central.guarantee import Guarantee
    from deniable_central.pmf import Pmf
    from deniable_central.release import ErrorBar, Release
    from deniable_central.scores import Scores
    from deniable_shared.randomness.coins import Coins

Choice = TypeVar("Choice")

SCORES = ("mode", "quantile", "revenue", "threshold")
SCORE_PARAMETERS = (
    Parameter("score", "one of mode, quantile, revenue, threshold", "mode"),
    Parameter("quantile", 'with score quantile: a share in (0, 1), like "0.9"', "0.5"),
    Parameter("level", 'with score threshold: a frequency in (0, 1], like "0.1"', "0.5"),
)
_OF_SCORE = {"quantile": "quantile", "level": "threshold"}


class SelectionMechanism(Protocol[Choice]):
    """A mechanism of `central.selection`, without its scores."""

    @property
    def law(self) -> str: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[Choice]: ...

    def pmf(self, scores: Scores) -> Pmf[Choice]: ...


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSelection(Generic[Choice]):
    """A valid request for a selection: see `contract.PreparedRelease`.

    `radius` is the number of reports that may change and leave the likeliest result the same: only
    if everyone may read the tallies.
    """

    mechanism: str
    version: int
    parameters: Mapping[str, object]
    expected: tuple[ErrorBar, ...]
    score: Score
    selector: SelectionMechanism[Choice]
    show: Callable[[Choice, tuple[str | None, ...]], Mapping[str, object]]
    radius: Callable[[Scores], int] | None = None

    @property
    def law(self) -> str:
        return self.selector.law

    @property
    def guarantee(self) -> Guarantee:
        return self.selector.guarantee

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        scores = self.score.levels(tallies.counts)
        result = dict(self.show(self.selector.release(scores, coins).result, self.score.candidates))
        if self.radius is not None:
            result["poisoning_radius"] = self.radius(scores)
        return ReleaseResult(result, self.expected)

    @property
    def typical(self) -> tuple[TypicalError, ...]:
        """The usual error, in the unit of the last of `expected`; none of a prior or no labels."""
        weighed = isinstance(self.selector, Exponential) and self.selector.measure is not None
        if weighed or not isinstance(self.score, LabelScore):
            return ()
        request = {"mechanism": self.mechanism, **self.parameters}
        return selection_errors(
            self.score,
            noisy_selection_of(self.selector),
            request,
            quantity=self.expected[-1].quantity,
        )

    def pmf(self, tallies: Tallies) -> Pmf[Choice]:
        """The certified distribution of the draw: it depends on the data, so never publish it."""
        return self.selector.pmf(self.score.levels(tallies.counts))


def read_score(
    context: ReleaseContext, given: Mapping[str, object], arguments: Mapping[str, object]
) -> tuple[Score, dict[str, object]]:
    """The requested score, and its arguments in canonical form.

    `given` is what the request named: an argument of another score is refused, not ignored.
    """
    name = read_name("score", arguments["score"], SCORES)
    for argument, score in _OF_SCORE.items():
        if argument in given and name != score:
            raise ParameterError(
                f"{argument} needs score {score}, this request has score {name}: leave it out"
            )
    if name == "quantile":
        share = read_share("quantile", arguments["quantile"], whole=False)
        return read_quantile(context, share), {"score": name, "quantile": decimal_text(share)}
    if name == "threshold":
        share = read_share("level", arguments["level"], whole=True)
        return Threshold.of(context, share), {"score": name, "level": decimal_text(share)}
    of = Revenue.of if name == "revenue" else Mode.of
    return of(context), {"score": name}


def read_quantile(context: ReleaseContext, share: Fraction) -> Quantile | RangeQuantile:
    """The quantile over ordered labels, or over the ranges that reports contain."""
    return (RangeQuantile if reads_ranges(context) else Quantile).of(context, share)


def declared(score: Score, epsilon: Fraction) -> PrivacyParameters:
    """The score's sensitivity at this ε, for one report replaced."""
    if "sensitivity" in score.sensitivity:
        return privacy_parameters(epsilon=epsilon, sensitivity=score.sensitivity["sensitivity"])
    return privacy_parameters(
        epsilon=epsilon, range_sensitivity=score.sensitivity["range_sensitivity"]
    )


def radius_of(
    context: ReleaseContext, privacy: PrivacyParameters, candidates: int, *, picks: int = 1
) -> Callable[[Scores], int] | None:
    """How many reports may change and leave the set of the likeliest `picks` the same.

    None if not everyone may read the tallies, or if there is nothing else to draw.
    """
    if not context.live or candidates <= picks:
        return None

    def radius(scores: Scores) -> int:
        levels = np.sort(np.asarray(scores, dtype=np.int64))[-picks - 1 :].tolist()
        apart = privacy.decay() * (int(levels[1]) - int(levels[0])) / privacy.epsilon
        return max(math.ceil(apart) - 1, 0)

    return radius


def named(index: int, candidates: tuple[str | None, ...]) -> Mapping[str, object]:
    """One candidate: its label and place, both None for "none of them"."""
    label = candidates[index]
    return {"label": label, "index": None if label is None else index}
