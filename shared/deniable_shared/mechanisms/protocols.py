"""What every local randomizer offers, so that both ends can use any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deniable_shared.domains import MAX_ATTRIBUTES, MAX_CHOICES
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.mechanisms.structure import MessageStructure
    from deniable_shared.randomness.coins import Coins

__all__ = [
    "Chain",
    "Mechanism",
    "MechanismClass",
    "Memoizable",
    "RecordMechanismClass",
    "check_radices",
]


class Mechanism(Protocol):
    """A randomizer with all its parameters fixed. Behaviour behind an id never changes."""

    def __hash__(self) -> int:
        """A mechanism is a value."""
        ...

    @property
    def id(self) -> str:
        """Name and version, like "rr/1"."""
        ...

    @property
    def domain_types(self) -> frozenset[str]:
        """Types of the domains it can answer for."""
        ...

    @property
    def domain_size(self) -> int:
        """Number of bits, or of choices."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """Of one whole report."""
        ...

    @property
    def payload_size(self) -> int:
        """Bytes of every payload."""
        ...

    @property
    def tally_size(self) -> int:
        """Integers in the tally of any set of reports."""
        ...

    @property
    def threshold(self) -> int:
        """T of 2^64: the integer whose law ε certifies; of a chain, its permanent answer's."""
        ...

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports what is true."""
        ...

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one thing that is not true."""
        ...

    @property
    def releasable(self) -> bool:
        """Whether central releases read it: its reports support labels or do not."""
        ...

    @property
    def structure(self) -> MessageStructure | None:
        """What a message is; None where what needs to know is not available for it."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of the labels that one report tells of: all, or t of m."""
        ...

    @property
    def public_outcomes(self) -> int:
        """How many equally likely things a payload may tell openly; 1 if it tells none."""
        ...

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """One payload; DomainError, which never repeats the value, unless it is encoded.

        `coins` are keyed by the value. What a report tells openly, such as which bits it speaks of,
        is tossed with `public`, keyed by anything but the value; with `coins` if there are none.
        """
        ...

    def supports(self, payload: bytes, label: int) -> bool | None:
        """Whether a payload supports a label; None if it does not tell of it."""

    def validate(self, payload: bytes) -> None:
        """Return for payloads `randomize` can give, raise DecodeError for all others."""

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload; ParameterError beyond 65,536 payloads."""
        ...

    def inputs(self) -> Iterator[int | tuple[int, ...]]:
        """Every input the ε speaks of: any two of them are covered by it."""
        ...


class Memoizable(Mechanism, Protocol):
    """A mechanism whose payload is symbols that can be kept or drawn anew, each by itself."""

    @property
    def alphabet_size(self) -> int:
        """K: how many values one symbol can take."""
        ...

    @property
    def support_size(self) -> int:
        """w: how many of those values support one thing."""
        ...

    @property
    def coordinates(self) -> int:
        """How many symbols a payload has."""
        ...

    @property
    def max_differing_coordinates(self) -> int:
        """The most symbols in which two inputs can differ: ε is split over so many."""
        ...

    @property
    def range_error(self) -> float | None:
        """n times the mean variance of a range of values; None if no level of a scale is told."""

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Each symbol of a payload kept with probability keep/2^64, else uniform among all K."""
        ...

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of every payload that `rerandomize` can give."""
        ...


class MechanismClass(Protocol):
    """What the registry knows of a mechanism: the class, before its parameters are fixed."""

    @property
    def id(self) -> str:
        """Name and version, like "rr/1"."""
        ...

    @property
    def domain_types(self) -> frozenset[str]:
        """Types of the domains it can answer for."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the integers that a manifest pins besides the domain and ε, if any.

        An instance has each of them as an attribute.
        """
        ...

    @property
    def releasable(self) -> bool:
        """Whether central releases read it: its reports support labels or do not."""
        ...

    @property
    def targets(self) -> frozenset[str]:
        """What it is compared for besides labels: "mean", "ranges", "tables", "texts".

        "allocations" where a report is one label, and a tally the histogram of reports.
        """
        ...

    @property
    def compared_from(self) -> int:
        """The least ε of a report at which it may be the best for a target."""
        ...

    def create(
        self, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Memoizable:
        """The mechanism at ε; what is not `given` is chosen for the ε of one `report`.

        `given` holds some of `parameters`, and "distance" for bits.
        """
        ...


class RecordMechanismClass(Protocol):
    """The same of a mechanism that is made for records, and must know their shape."""

    @property
    def id(self) -> str:
        """Name and version, like "pairs/1"."""
        ...

    @property
    def domain_types(self) -> frozenset[str]:
        """Only "record"."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """See `MechanismClass`."""
        ...

    @property
    def releasable(self) -> bool:
        """See `MechanismClass`."""
        ...

    @property
    def targets(self) -> frozenset[str]:
        """See `MechanismClass`."""
        ...

    @property
    def compared_from(self) -> int:
        """See `MechanismClass`."""
        ...

    def create(
        self,
        radices: tuple[int, ...],
        epsilon: Fraction,
        *,
        report: Fraction,
        given: Mapping[str, int],
    ) -> Memoizable:
        """The mechanism at ε for attributes of so many labels each; see `MechanismClass`."""
        ...


def check_radices(radices: tuple[int, ...]) -> None:
    """ParameterError unless there are 2 to 64 attributes of two or more labels each."""
    if not 2 <= len(radices) <= MAX_ATTRIBUTES:
        raise ParameterError(
            f"radices must be those of 2 to {MAX_ATTRIBUTES} attributes, got {len(radices)}"
        )
    for radix in radices:
        if not 2 <= radix <= MAX_CHOICES:
            raise ParameterError(f"radices must each lie in [2, {MAX_CHOICES}], got {radix}")


class Chain(Mechanism, Protocol):
    """A permanent answer, renewed for each report: `randomize` is `permanent`, then `renew`.

    All reports of one permanent answer together cost `epsilon_permanent`, each alone `epsilon`.
    p, q and pmf are those of one report.
    """

    @property
    def epsilon_permanent(self) -> Fraction:
        """Of one permanent answer, and so of any number of reports that renew it."""
        ...

    @property
    def permanent_threshold(self) -> int:
        """T of 2^64 of the permanent answer."""
        ...

    @property
    def renewal_threshold(self) -> int:
        """A of 2^64: a symbol of the permanent answer is kept with that chance."""
        ...

    def memoize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """The answer to keep, tossed once a hold; the coins are those of `randomize`."""
        ...

    def rerandomize(self, permanent: bytes, coins: Coins) -> bytes:
        """One report of it; DecodeError unless `permanent` is a payload.

        The coins are new for each report, keyed by the permanent answer and by no value.
        """
        ...

    def pmf_history(
        self, values: Sequence[int | Sequence[int]]
    ) -> dict[tuple[bytes, ...], Fraction]:
        """Exact probability of every sequence of reports in one hold, one for each of the values.

        The permanent answer is that of the first value, later ones are not used. ParameterError
        beyond 65,536 sequences.
        """
        ...
