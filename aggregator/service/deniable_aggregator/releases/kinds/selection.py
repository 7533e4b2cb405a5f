"""Prepared selections: a score over a collection, met by a mechanism of `central.selection`.

Price, law and error bars are known from public facts; `draw` computes the scores from the raw
tally, draws, and says nothing but which candidates were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from deniable_aggregator.releases.kinds.arguments import decimal_text, read_name, read_share
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
    TypicalError,
)
from deniable_aggregator.releases.kinds.ordered_scores import Quantile, Revenue
from deniable_aggregator.releases.kinds.scores import Mode, Score, Threshold
from deniable_aggregator.releases.kinds.selection_errors import noisy_selection_of, selection_errors
from deniable_central.selection import PrivacyParameters, privacy_parameters
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
    Parameter("score", "mode, quantile, revenue or threshold", "mode"),
    Parameter("quantile", 'with score quantile: a share in (0, 1), like "0.9"', "0.5"),
    Parameter("level", 'with score threshold: a frequency in (0, 1], like "0.1"', "0.5"),
)
_OF_SCORE = {"quantile": "quantile", "level": "threshold"}


class SelectionMechanism(Protocol[Choice]):
    """A mechanism of `central.selection` before it meets scores."""

    @property
    def law(self) -> str: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[Choice]: ...

    def pmf(self, scores: Scores) -> Pmf[Choice]: ...


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSelection(Generic[Choice]):
    """A valid request for a selection: see `contract.PreparedRelease`.

    `radius` says how many reports may be anything and leave the likeliest candidate the likeliest:
    only where everybody may read the tallies.
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
        """The usual error, in the unit of the last of `expected`."""
        request = {"mechanism": self.mechanism, **self.parameters}
        return selection_errors(
            self.score,
            noisy_selection_of(self.selector),
            request,
            quantity=self.expected[-1].quantity,
        )

    def pmf(self, tallies: Tallies) -> Pmf[Choice]:
        """The certified law of what is drawn, by index: a function of the data, not to be shown."""
        return self.selector.pmf(self.score.levels(tallies.counts))


def read_score(
    context: ReleaseContext, given: Mapping[str, object], arguments: Mapping[str, object]
) -> tuple[Score, dict[str, object]]:
    """The score that is asked for, and its arguments in one spelling.

    `given` is what the request named: an argument of another score is refused, not ignored.
    """
    name = read_name("score", arguments["score"], SCORES)
    for argument, score in _OF_SCORE.items():
        if argument in given and name != score:
            raise ParameterError(
                f"{argument} goes with score {score}, not with {name}: leave it out"
            )
    if name == "quantile":
        share = read_share("quantile", arguments["quantile"], whole=False)
        return Quantile.of(context, share), {"score": name, "quantile": decimal_text(share)}
    if name == "threshold":
        share = read_share("level", arguments["level"], whole=True)
        return Threshold.of(context, share), {"score": name, "level": decimal_text(share)}
    of = Revenue.of if name == "revenue" else Mode.of
    return of(context), {"score": name}


def declared(score: Score, epsilon: Fraction) -> PrivacyParameters:
    """The score's sensitivity at this ε, for one report replaced."""
    if "sensitivity" in score.sensitivity:
        return privacy_parameters(epsilon=epsilon, sensitivity=score.sensitivity["sensitivity"])
    return privacy_parameters(
        epsilon=epsilon, range_sensitivity=score.sensitivity["range_sensitivity"]
    )


def named(index: int, candidates: tuple[str | None, ...]) -> Mapping[str, object]:
    """One candidate: its label and place, both None for "none of them"."""
    label = candidates[index]
    return {"label": label, "index": None if label is None else index}
