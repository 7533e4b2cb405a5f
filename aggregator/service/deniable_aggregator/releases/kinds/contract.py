"""What a release over a collection is made of: context, prepared release, tallies, result.

    ReleaseContext   what is public beforehand: the collection, its mechanism, the epochs, n
    PreparedRelease  a valid request: its price and its law are known, and no tally was read
    Tallies          raw integer counts of closed epochs, apart by epoch and cohort
    ReleaseResult    a function of the draw and of the context, never of the tallies themselves,
                     unless they are public anyway (`ReleaseContext.live`)

Neighbours replace one report by any other possible one: n of each epoch, so which epochs are read,
and who is in which cohort stay. The charge is committed to the ledger after `PreparedRelease` and
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
    """What may be known of a collection before a tally is read; all of it is public.

    `epochs` are closed and ascending, `n` is the number of reports in them all, `cohorts` of the
    newest manifest. `read` is the widest that any version of the manifest allowed; `live`: the
    newest allows to read every tally, too, so that a result may speak of raw scores.
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
            raise ParameterError("epochs must be at least one, each once, in order")
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
    """What a release reads; at least one part, all tallies of one length."""

    parts: tuple[TallyPart, ...]

    def __post_init__(self) -> None:
        if len({len(part.counts) for part in self.parts}) != 1:
            raise ParameterError("tallies must be at least one and of one length")

    @property
    def n(self) -> int:
        return sum(part.n for part in self.parts)

    @property
    def counts(self) -> Counts:
        """Of all reports together."""
        return _added(self.parts).counts

    def by_epoch(self) -> dict[int, TallyPart]:
        """One part an epoch, in order; its cohort is that of the first."""
        return _grouped(self.parts, lambda part: part.epoch)

    def by_cohort(self) -> dict[int, TallyPart]:
        """One part a cohort that has reports, in order; its epoch is that of the first."""
        return _grouped(self.parts, lambda part: part.cohort)


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """What is shown: `result` is a JSON object, exact numbers in it integers or decimal texts."""

    result: Mapping[str, object]
    error_bars: tuple[ErrorBar, ...]


@dataclass(frozen=True, slots=True)
class TypicalError:
    """How far off a release usually is, for the made-up `population` that it is worst for.

    Half of so many `runs` were off by at most `median`, 95 of 100 by at most `p95`.
    """

    quantity: str
    median: float
    p95: float
    population: str
    runs: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a mechanism, as documents and `--help` show it; `default` None if needed."""

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
        """Of the law behind the name: another number never answers from the cache of this one."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """Every argument in one spelling, defaults filled in: JSON, equal for equal requests."""

    @property
    def law(self) -> str:
        """What the result is drawn from, in words."""

    @property
    def guarantee(self) -> Guarantee:
        """The price, for one report replaced: what the ledger charges to every epoch read."""

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """How far off the answer may be, from public facts alone: what `releases quote` shows."""

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        """One draw. Never raises for what the tallies hold; `coins` are for tests."""


class ReleaseWithTypicalErrors(PreparedRelease, Protocol):
    """A prepared release whose usual error can be simulated."""

    @property
    def typical(self) -> tuple[TypicalError, ...]:
        """From public facts alone, the same each time; empty where simulating takes long."""


class Session(Protocol):
    """A conversation that was paid for: questions are free."""

    def knows(self, question: Mapping[str, object]) -> bool:
        """Whether it was answered before, so that asking it keeps no record."""

    def ask(self, question: Mapping[str, object]) -> ReleaseResult:
        """The answer, the same for the same question. Its record was kept before it returns."""


class PreparedSession(PreparedRelease, Protocol):
    """A prepared release whose draw opens a session. `keep` makes a record durable or raises.

    Records are numbered from 0 and as secret as the tallies; whoever keeps them refuses to keep a
    number twice. Record 0 opens the session; each new question has one more.
    """

    @property
    def questions(self) -> int:
        """The most different questions that may be asked."""

    def open(
        self, tallies: Tallies, keep: Callable[[bytes], None], coins: Coins | None = None
    ) -> tuple[Session, ReleaseResult]:
        """Keep record 0; what is drawn says what may be asked."""

    def resume(
        self,
        tallies: Tallies,
        records: Iterable[bytes],
        keep: Callable[[bytes], None],
        coins: Coins | None = None,
    ) -> Session:
        """Go on behind the last record."""


def _grouped(parts: Iterable[TallyPart], key: Callable[[TallyPart], int]) -> dict[int, TallyPart]:
    return {name: _added(group) for name, group in groupby(sorted(parts, key=key), key)}


def _added(parts: Iterable[TallyPart]) -> TallyPart:
    first, *others = parts
    counts = first.counts.astype(np.int64, copy=True)
    for part in others:
        counts += part.counts
    return TallyPart(first.epoch, first.cohort, first.n + sum(part.n for part in others), counts)
