"""What an estimator promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from deniable_estimators.inference.channel import Counts, Floats
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from deniable_estimators.inference.debias import Estimate
    from deniable_estimators.inference.likelihood import MessageLaw
    from deniable_estimators.inference.payload_arrays import Payloads
    from deniable_shared.mechanisms.protocols import Mechanism

Numbers = TypeVar("Numbers", Counts, Floats)

REPEATS = ("once", "fresh", "memoized")
"""How often a device answers: once ever, with a new draw each epoch, or by a permanent answer."""


class HasMechanism(Protocol):
    """What belongs to a mechanism."""

    @property
    def mechanism(self) -> Mechanism:
        """Of which the reports are."""
        ...


class Estimator(HasMechanism, Protocol):
    """The numpy half of a mechanism. Tallies add: tally(A ∪ B) = tally(A) + tally(B)."""

    @property
    def default_projection(self) -> str:
        """The projection that fits the domain: "clip" or "simplex"."""
        ...

    @property
    def estimand(self) -> str:
        """What an estimate has entries for: the "labels" of the domain, its "mean", or "tables".

        A mean is a share of the way from the lowest value of the domain to the highest. Under
        "distribution" there are entries for the labels, too, but single ones say little: the
        reports tell where people are, not which label they have. Tables are those of the
        attributes of a record: an estimate has the labels of each.
        """
        ...

    @property
    def repeat(self) -> str:
        """One of REPEATS: what a sum of tallies over several epochs means."""
        ...

    def tally(self, payloads: Payloads) -> Counts:
        """Counts in payloads (n, payload_size): int64 of length tally_size.

        ParameterError for another shape or dtype, DecodeError for a payload no sender can make.
        """
        ...

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """The tally and n; raises ParameterError where n reports cannot give it.

        Always 0 ≤ count ≤ n, and the sums that are the mechanism's own: a tally that counts each
        report once adds up to n.
        """
        ...

    def supports(self, tallies: Counts) -> Counts:
        """How many reports support each label: (…, domain_size) from tallies (…, tally_size).

        (…, 0) where it tells the mean, and so of no label.
        """
        ...

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """Debias a tally of n reports; ParameterError for a tally that n reports cannot give.

        `epochs`: in how many epochs they came, where a device reports at most once in each. Under
        "fresh" and "memoized" standard errors and intervals hold for any number of devices that
        sent them, from n/epochs to n.
        """
        ...


@runtime_checkable
class CodeEstimator(Protocol):
    """An estimator of reports that support codes, of which some may stand for no label."""

    def supports(self, tallies: Counts) -> Counts:
        """How many reports support each label: see `Estimator`."""
        ...

    def code_supports(self, tallies: Counts) -> Counts:
        """How many reports support each code: (…, K); those from `domain_size` on are unused."""
        ...


@runtime_checkable
class MessageCodeEstimator(CodeEstimator, Protocol):
    """The same where the tally is the histogram of the messages."""

    def held(self, weights: Counts) -> Counts:
        """Σ of the weights of the codes that each message supports: (…, tally_size), exactly.

        `weights` has an entry for each label, or for each code: (…, d … K).
        """
        ...


@runtime_checkable
class CodeSetEstimator(CodeEstimator, Protocol):
    """The same where messages are sets of a design, and the tally counts their codes."""

    def held_blocks(self, rows: Numbers) -> Iterator[Numbers]:
        """Σ of the weights of the codes that each message supports: (k, messages) at a time.

        `rows` (k, d … K) has an entry for each label, or for each code.
        """
        ...

    def squares(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Σ of the squares of these sums over all messages, and over those that support each code.

        (k,) and (k, K).
        """
        ...


@runtime_checkable
class DistributionEstimator(Protocol):
    """An estimator of reports that say where people are, of which distributions are fitted."""

    @property
    def law(self) -> MessageLaw:
        """The chance of each output by value."""
        ...

    def fitted(self, tally: Counts, n: int, *, smooth: bool) -> Floats:
        """The likeliest distribution, or its smoothed form; ParameterError at n = 0."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TableGroup:
    """The reports of one group of tables: `trials` by table, `supports` by table and code."""

    trials: Counts
    supports: Counts

    @property
    def n(self) -> int:
        """Reports of the group."""
        return int(self.trials.sum())


class TextCoding(Protocol):
    """How texts become codes: tables, of which those of group 0 tell of whole texts."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of the reports that are of group 0."""
        ...

    @property
    def groups(self) -> int:
        """Group 0 and those of a search, if there is one."""
        ...

    @property
    def codes(self) -> int:
        """How many codes a table has."""
        ...

    @property
    def all_tables(self) -> int:
        """Of all groups."""
        ...

    @property
    def hashes(self) -> int:
        """The most codes of a text in one table."""
        ...

    @property
    def domain_size(self) -> int:
        """The most bytes of a text."""
        ...

    def length(self, group: int) -> int:
        """Bytes of the prefixes of a group."""
        ...

    def tables_of(self, group: int) -> range:
        """The tables of a group."""
        ...


@runtime_checkable
class PrefixCoding(TextCoding, Protocol):
    """The same where the code of a prefix leads to those of longer ones, byte by byte."""

    @property
    def q(self) -> Fraction:
        """The chance that a report supports one given other code."""
        ...

    @property
    def tables(self) -> int:
        """Of each group of the search."""
        ...

    def code(self, table: int, prefix: Sequence[int]) -> int:
        """The code of a prefix in a table."""
        ...

    def entry(self, table: int, place: int, byte: int) -> int:
        """What a byte at a place adds to the code."""
        ...


class TextEstimator(Estimator, Protocol):
    """The estimator of a mechanism for texts: it tells how often a given one occurs."""

    @property
    def coding(self) -> TextCoding:
        """What says how texts become codes."""
        ...

    @property
    def agreeing(self) -> float:
        """β: the chance that another text has one given code of a text."""
        ...

    @property
    def inside(self) -> float:
        """The chance that a report of a table supports a given code that its text has not."""
        ...

    def reports_of(self, tally: Counts) -> int:
        """How many reports it counts."""
        ...

    def group(self, tally: Counts, group: int) -> TableGroup:
        """What the reports of one group say of every code."""
        ...

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """(tables of the group, hashes, texts): the codes of each, −1 for one that is twice."""
        ...


def checked_repeat(mechanism: Mechanism, repeat: str | None) -> str:
    """The repeat of a mechanism; ParameterError where one needs a chain and the other is none."""
    chain = isinstance(mechanism, MemoizedChain)
    if repeat is None:
        return "memoized" if chain else "once"
    if repeat not in REPEATS:
        raise ParameterError(f"repeat must be one of {', '.join(REPEATS)}, got {repeat!r:.40}")
    if chain != (repeat == "memoized"):
        cure = "build it without permanent" if chain else "build it with permanent, as a chain"
        raise ParameterError(f"mechanism {mechanism.id} cannot be {repeat}: {cure}")
    return repeat
