"""`majority`: whether a label has most of the reports, told with a random lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from deniable_aggregator.central.adjacency import Adjacency
from deniable_aggregator.central.guarantee import Guarantee
from deniable_aggregator.central.release import ErrorBar
from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    completed,
    read_epsilon,
    read_name,
    spelled,
)
from deniable_aggregator.releases.kinds.contract import Drawn, Facts, Parameter, Tallies
from deniable_shared.coins import Coins
from deniable_shared.domain import Choice
from deniable_shared.dyadic import threshold
from deniable_shared.errors import ParameterError

PARAMETERS = (EPSILON, Parameter("contender", "a label of the collection"))


@dataclass(frozen=True, slots=True)
class Majority:
    """A valid request: see `contract.Plan`."""

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

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> Drawn:
        truth = 2 * int(tallies.counts[self.place]) > tallies.n
        truthful = (coins or Coins.system()).bernoulli(threshold(self.epsilon))
        return Drawn({"majority": truth == truthful}, ())


def plan(arguments: Mapping[str, object], facts: Facts) -> Majority:
    """ParameterError where this is no request over these facts."""
    if not isinstance(facts.domain, Choice):
        raise ParameterError("majority needs a choice")
    complete = completed("majority", PARAMETERS, arguments)
    epsilon, labels = read_epsilon(complete["epsilon"]), facts.domain.labels
    contender = read_name("contender", complete["contender"], labels)
    parameters = {"epsilon": spelled(epsilon), "contender": contender}
    return Majority(parameters, epsilon, labels.index(contender))
