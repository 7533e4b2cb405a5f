"""The parts of a release over a collection: context, prepared release, tallies, result.

    ReleaseContext   public facts: the collection, its mechanism, the epochs, n
    PreparedRelease  a valid request with its price and distribution; it has read no tally
    Tallies          raw integer counts of closed epochs, apart by epoch and cohort
    ReleaseResult    a function of the draw and of the context, never of the tallies themselves,
                     unless they are public anyway (`ReleaseContext.live`)

Neighbours replace one report by any other possible one. So n of each epoch, the epochs that are
read and the cohorts stay. The charge is committed to the ledger after `PreparedRelease` and
before `ReleaseResult`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deniable_central.accounting import Installation
    from deniable_central.guarantee import Guarantee
    from deniable_central.release import ErrorBar
    from deniable_shared.domains import Domain
    from deniable_shared.mechanisms.protocols import Mechanism
    from deniable_shared.randomness.coins import Coins

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ReleaseContext:
    """The facts of a collection before a tally is read; all are public.

    `epochs` are closed and ascending, `n` is the number of reports in them all, `cohorts` of the
    newest manifest. `read` is the widest access that any version of the manifest allowed. `live`:
    the newest also allows everyone to read every tally, so that a result may contain raw scores.
    """

    collection: str
    domain: Domain
    mechanism: Mechanism
    repeat: str
    read: str
    epochs: tuple[int, ...]
    n: int
    cohorts: int
    installation: Installation
    live: bool = False

    def __post_init__(self) -> None:
        if not self.epochs or list(self.epochs) != sorted(set(self.epochs)):
            raise ParameterError("epochs must have at least one number, each once, in order")
        if self.n < 1:
            raise ParameterError(f"n must be at least 1, got {self.n}")


@dataclass(frozen=True, slots=True, eq=False)
class TallyPart:
    """The reports of one epoch and cohort: n of them, and their raw tally int64[tally_size]."""

    epoch: int
    cohort: int
    n: int
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """The tallies that a release reads: at least one part, all of one length."""

    parts: tuple[TallyPart, ...]

    def __post_init__(self) -> None:
        if len({len(part.counts) for part in self.parts}) != 1:
            raise ParameterError("tallies must have at least one part, all of one length")

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def counts(self) -> Counts:
        """The tally of all reports, int64[tally_size]."""
        return _added(self.parts).counts

    def by_epoch(self) -> dict[int, TallyPart]:
        """One part for each epoch, in order; its cohort is that of the first."""
        return _grouped(self.parts, lambda part: part.epoch)

    def by_cohort(self) -> dict[int, TallyPart]:
        """One part for each cohort with reports, in order; its epoch is that of the first."""
        return _grouped(self.parts, lambda part: part.cohort)


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """The published result: a JSON object; exact numbers are integers or decimal texts."""

    result: Mapping[str, object]
    error_bars: tuple[ErrorBar, ...]


@dataclass(frozen=True, slots=True)
class TypicalError:
    """The usual error of a release, for the simulated `population` with the largest error.

    Of `runs` simulations, half were off by at most `median`, 95 of 100 by at most `p95`.
    """

    quantity: str
    median: float
    p95: float
    population: str
    runs: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a mechanism, for documents and `--help`; `default` None: required."""

    name: str
    accepted: str
    default: str | None = None


class PreparedRelease(Protocol):
    """A valid request over a collection. Building one reads no tally and draws no coin."""

    @property
    def mechanism(self) -> str:
        """Its name, like "exponential"."""

    @property
    def version(self) -> int:
        """The version of the mechanism's distribution: the cache never mixes versions."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """Every argument in canonical form with defaults: equal JSON for equal requests."""

    @property
    def law(self) -> str:
        """The distribution of the result, in words."""

    @property
    def guarantee(self) -> Guarantee:
        """The price, for one report replaced: what the ledger charges to every epoch read."""

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """The error of the answer, from public facts alone, as `releases quote` shows it."""

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        """Draw once. Never raises because of the tallies' values. `coins` are for tests."""


class ReleaseWithTypicalErrors(PreparedRelease, Protocol):
    """A prepared release whose usual error can be simulated."""

    @property
    def typical(self) -> tuple[TypicalError, ...]:
        """The usual errors, from public facts alone, the same each time; empty if too slow."""


class Session(Protocol):
    """An open session: its questions are free."""

    def knows(self, question: Mapping[str, object]) -> bool:
        """Whether the question was answered before, so that it needs no new record."""

    def ask(self, question: Mapping[str, object]) -> ReleaseResult:
        """The answer; the same question gets the same one. Its record is kept before it returns."""


class PreparedSession(PreparedRelease, Protocol):
    """A prepared release whose draw opens a session. `keep` makes a record durable or raises.

    Records are numbered from 0 and are as secret as the tallies. The store refuses to keep a
    number twice. Record 0 opens the session; each new question has one more.
    """

    @property
    def questions(self) -> int:
        """The largest number of different questions."""

    def open(
        self, tallies: Tallies, keep: Callable[[bytes], None], coins: Coins | None = None
    ) -> tuple[Session, ReleaseResult]:
        """Keep record 0, and return the session and the result that describes it."""

    def resume(
        self,
        tallies: Tallies,
        records: Iterable[bytes],
        keep: Callable[[bytes], None],
        coins: Coins | None = None,
    ) -> Session:
        """Resume the session after the last record."""


def _grouped(parts: Iterable[TallyPart], key: Callable[[TallyPart], int]) -> dict[int, TallyPart]:
    return {name: _added(group) for name, group in groupby(sorted(parts, key=key), key)}


def _added(parts: Iterable[TallyPart]) -> TallyPart:
    first, *others = parts
    counts = first.counts.astype(np.int64, copy=True)
    for part in others:
        counts += part.counts
    return TallyPart(first.epoch, first.cohort, first.n + sum(part.n for part in others), counts)
