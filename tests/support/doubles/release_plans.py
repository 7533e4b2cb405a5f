"""Small releases to fill a ledger with: noisy counts, and a session.

`prepare` is what a service calls. "counts" adds two-sided geometric noise to every count,
e^−ε/m for a report that moves m of them; "talk" opens with nothing and answers {"label": place}
with one count, ε/m each, for as many places as there are: together ε.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_central.errors import CentralError
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.release import ErrorBar
from deniable_central.samplers.noise import two_sided_geometric
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import format_epsilon, parse_epsilon

Keep = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Counts:
    """Every count of the tally with geometric noise; an ε of at most 20."""

    context: ReleaseContext
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: str = "counts"
    version: int = 1
    law: str = "geometric noise"

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"epsilon": format_epsilon(self.epsilon), "delta": str(self.delta)}

    @property
    def guarantee(self) -> Guarantee:
        if self.delta:
            return Guarantee.approximate(self.epsilon, self.delta, Adjacency.REPLACE)
        return Guarantee.pure(self.epsilon, Adjacency.REPLACE)

    @property
    def decay(self) -> Fraction:
        return self.epsilon / self.context.mechanism.tally_size

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        reach = 3 / float(self.decay)
        return (ErrorBar("reports of one label", -reach, reach, 0.9),)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        counts = tallies.counts
        noisy = counts + two_sided_geometric(self.decay, len(counts), coins)
        return ReleaseResult({"counts": noisy.tolist()}, self.expected)


@dataclass(frozen=True, slots=True)
class Talk(Counts):
    """The same, on request; record 0 is empty, the others [place, answer]."""

    mechanism: str = "talk"

    @property
    def questions(self) -> int:
        return self.context.mechanism.tally_size

    def open(
        self, tallies: Tallies, keep: Keep, coins: Coins | None = None
    ) -> tuple[Conversation, ReleaseResult]:
        keep(b"[]")
        drawn = ReleaseResult({"labels": len(tallies.counts)}, ())
        return Conversation(self, tallies, keep, {}, coins), drawn

    def resume(
        self,
        tallies: Tallies,
        records: Iterable[bytes],
        keep: Keep,
        coins: Coins | None = None,
    ) -> Conversation:
        _, *answered = records
        return Conversation(self, tallies, keep, dict(map(json.loads, answered)), coins)


@dataclass
class Conversation:
    """One open session."""

    prepared: Talk
    tallies: Tallies
    keep: Keep
    answered: dict[int, int]
    coins: Coins | None

    def knows(self, question: Mapping[str, object]) -> bool:
        return question.get("label") in self.answered

    def ask(self, question: Mapping[str, object]) -> ReleaseResult:
        place = question.get("label")
        size = len(self.tallies.counts)
        if set(question) != {"label"} or type(place) is not int or not 0 <= place < size:
            raise CentralError(f"label must be a place from 0 to {size - 1}, got {place!r:.20}")
        if place not in self.answered:
            noise = two_sided_geometric(self.prepared.decay, 1, self.coins)
            answer = int(self.tallies.counts[place] + noise[0])
            self.keep(json.dumps([place, answer]).encode())
            self.answered[place] = answer
        return ReleaseResult({"count": self.answered[place]}, self.prepared.expected)


RELEASE_KINDS: Mapping[str, type[Counts]] = {"counts": Counts, "talk": Talk}


def prepare(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    """A valid request."""
    if mechanism not in RELEASE_KINDS:
        raise ParameterError(f"mechanism must be one of counts, talk, got {mechanism!r:.80}")
    unknown = sorted(set(arguments) - {"epsilon", "delta"})
    if unknown:
        raise ParameterError(f"{unknown[0][:80]} is no argument of {mechanism}: epsilon, delta are")
    delta = arguments.get("delta", "0")
    if not isinstance(delta, str) or delta not in ("0", "1/1000000"):
        raise ParameterError(f"delta must be 0 or 1/1000000, got {delta!r:.20}")
    epsilon = parse_epsilon(arguments.get("epsilon", "0.1"))  # type: ignore[arg-type]  # an argument of a request is an object
    return RELEASE_KINDS[mechanism](context, epsilon, Fraction(delta))
