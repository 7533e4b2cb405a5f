"""A toy release, `majority`: whether a label has most of the reports, or a random lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    read_name,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_shared.domains import Choice
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import threshold

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_central.release import ErrorBar

PARAMETERS = (EPSILON, Parameter("contender", "a label of the collection"))


@dataclass(frozen=True, slots=True)
class Majority:
    """A valid request: see `contract.PreparedRelease`."""

    parameters: Mapping[str, object]
    epsilon: Fraction
    place: int
    mechanism: str = "majority"
    version: int = 1
    law: str = "randomized response on one bit"
    expected: tuple[ErrorBar, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.pure(self.epsilon, Adjacency.REPLACE)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        truth = 2 * int(tallies.counts[self.place]) > tallies.n
        truthful = (coins or Coins.system()).bernoulli(threshold(self.epsilon))
        return ReleaseResult({"majority": truth == truthful}, ())


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> Majority:
    """ParameterError where this is no request over these context."""
    if not isinstance(context.domain, Choice):
        raise ParameterError("majority needs a choice")
    complete = with_defaults("majority", PARAMETERS, arguments)
    epsilon, labels = read_epsilon(complete["epsilon"]), context.domain.labels
    contender = read_name("contender", complete["contender"], labels)
    parameters = {"epsilon": decimal_text(epsilon), "contender": contender}
    return Majority(parameters, epsilon, labels.index(contender))
