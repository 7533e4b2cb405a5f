"""The interfaces of estimators."""

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
    """An object that belongs to a mechanism."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the reports."""
        ...


class Estimator(HasMechanism, Protocol):
    """The numpy half of a mechanism. Tallies add up: tally(A ∪ B) = tally(A) + tally(B)."""

    @property
    def default_projection(self) -> str:
        """The projection that fits the domain: "clip" or "simplex"."""
        ...

    @property
    def estimand(self) -> str:
        """The entries of an estimate: "labels", a "mean", a "distribution" or "tables".

        A mean is a share of the way from the domain's lowest value to its highest. A "distribution"
        has entries for the labels, too, but single ones say little: the reports measure where
        people are, not which label they have. "tables" are those of a record's attributes: an
        estimate has the labels of each attribute.
        """
        ...

    @property
    def repeat(self) -> str:
        """One of REPEATS: it decides what a sum of tallies over several epochs means."""
        ...

    def tally(self, payloads: Payloads) -> Counts:
        """Return the counts of payloads, uint8[n, payload_size], as int64[tally_size].

        Raises ParameterError for another shape or dtype, and DecodeError for a payload that no
        sender can make.
        """
        ...

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """Return the tally and n. Raises ParameterError if n reports cannot give the tally.

        Always 0 ≤ count ≤ n, and the sums of the mechanism hold: a tally that counts each report
        once adds up to n.
        """
        ...

    def supports(self, tallies: Counts) -> Counts:
        """How many reports support each label: int64[…, domain_size] of int64[…, tally_size].

        The result is int64[…, 0] if reports are about the mean and not about labels.
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
        """Debias a tally, int64[tally_size], of n reports.

        `confidence` is in (0, 1). `epochs` is the number of epochs of the reports, if a device
        reports at most once in each. Under "fresh" and "memoized" standard errors and intervals
        hold for any number of devices, from n/epochs to n. `family` is "each" or "all". Raises
        ParameterError for a tally that n reports cannot give.
        """
        ...


@runtime_checkable
class CodeEstimator(Protocol):
    """An estimator of reports that support codes; some codes may have no label."""

    def supports(self, tallies: Counts) -> Counts:
        """Return how many reports support each label: see `Estimator`."""
        ...

    def code_supports(self, tallies: Counts) -> Counts:
        """Return how many reports support each code: int64[…, K].

        Codes from `domain_size` on have no label.
        """
        ...


@runtime_checkable
class MessageCodeEstimator(CodeEstimator, Protocol):
    """A CodeEstimator whose tally is the histogram of the messages."""

    def held(self, weights: Counts) -> Counts:
        """Σ of the weights of the codes that each message supports: int64[…, tally_size], exact.

        `weights` has an entry for each label, or for each code: int64[…, d … K].
        """
        ...


@runtime_checkable
class CodeSetEstimator(CodeEstimator, Protocol):
    """A CodeEstimator whose messages are sets of a design, and whose tally counts their codes."""

    def held_blocks(self, rows: Numbers) -> Iterator[Numbers]:
        """Yield Σ of the weights of the codes that each message supports, in blocks [k, messages].

        `rows`, [k, d … K], has an entry for each label, or for each code.
        """
        ...

    def squares(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Σ of squares of these sums over all messages, and over those that support each code.

        The shapes are [k] and [k, K].
        """
        ...


@runtime_checkable
class DistributionEstimator(Protocol):
    """An estimator of reports about places on a scale; it fits distributions."""

    @property
    def law(self) -> MessageLaw:
        """The chance of each output by value."""
        ...

    def fitted(self, tally: Counts, n: int, *, smooth: bool) -> Floats:
        """Return the most likely distribution, or its smoothed form.

        Raises ParameterError at n = 0.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TableGroup:
    """The reports of one group of tables: `trials` by table, `supports` by table and code."""

    trials: Counts
    supports: Counts

    @property
    def n(self) -> int:
        """The number of reports of the group."""
        return int(self.trials.sum())


class TextCoding(Protocol):
    """How texts become codes: in tables, of which those of group 0 are about whole texts."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of the reports that are of group 0."""
        ...

    @property
    def groups(self) -> int:
        """The number of groups: group 0, and those of a search if there is one."""
        ...

    @property
    def codes(self) -> int:
        """The number of codes of a table."""
        ...

    @property
    def all_tables(self) -> int:
        """The number of tables of all groups."""
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
        """Return the bytes of the prefixes of a group."""
        ...

    def tables_of(self, group: int) -> range:
        """Return the tables of a group."""
        ...


@runtime_checkable
class PrefixCoding(TextCoding, Protocol):
    """A TextCoding in which a prefix's code leads to those of longer prefixes, byte by byte."""

    @property
    def q(self) -> Fraction:
        """The chance that a report supports one given other code."""
        ...

    @property
    def tables(self) -> int:
        """The number of tables of each group of the search."""
        ...

    def code(self, table: int, prefix: Sequence[int]) -> int:
        """Return the code of a prefix in a table."""
        ...

    def entry(self, table: int, place: int, byte: int) -> int:
        """Return what a byte at a place adds to the code."""
        ...


class TextEstimator(Estimator, Protocol):
    """The estimator of a mechanism for texts: it estimates how often given texts occur."""

    @property
    def coding(self) -> TextCoding:
        """How texts become codes."""
        ...

    @property
    def agreeing(self) -> float:
        """β: the chance that another text has one given code of a text."""
        ...

    @property
    def inside(self) -> float:
        """The chance that a report of a table supports a given code that its text does not have."""
        ...

    def reports_of(self, tally: Counts) -> int:
        """Return the number of reports in a tally."""
        ...

    def group(self, tally: Counts, group: int) -> TableGroup:
        """Return the reports of one group, by table and code."""
        ...

    def codes(self, group: int, texts: Sequence[bytes]) -> Counts:
        """Int64[tables of the group, hashes, texts]: each text's codes, −1 for a repeated one."""
        ...


def checked_repeat(mechanism: Mechanism, repeat: str | None) -> str:
    """Return the repeat of a mechanism.

    Raises ParameterError if one needs a chain and the other is none.
    """
    chain = isinstance(mechanism, MemoizedChain)
    if repeat is None:
        return "memoized" if chain else "once"
    if repeat not in REPEATS:
        raise ParameterError(f"repeat must be one of {', '.join(REPEATS)}, got {repeat!r:.40}")
    if chain != (repeat == "memoized"):
        cure = "build it without permanent" if chain else "build it with permanent, as a chain"
        raise ParameterError(f"mechanism {mechanism.id} cannot be {repeat}: {cure}")
    return repeat
