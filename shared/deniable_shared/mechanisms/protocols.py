"""The interface of every local randomizer, for both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deniable_shared.domains import MAX_ATTRIBUTES, MAX_CHOICES
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.mechanisms.structure import MessageStructure
    from deniable_shared.randomness.coins import Coins


class Mechanism(Protocol):
    """A randomizer with all its parameters fixed. The behaviour of an id never changes."""

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
        """The number of bits or of choices."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """The ε of one whole report."""
        ...

    @property
    def payload_size(self) -> int:
        """The size of every payload in bytes."""
        ...

    @property
    def tally_size(self) -> int:
        """The number of integers in a tally of reports."""
        ...

    @property
    def threshold(self) -> int:
        """T of 2^64: the integer that ε certifies; for a chain, that of the permanent answer."""
        ...

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports the true label."""
        ...

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other label."""
        ...

    @property
    def releasable(self) -> bool:
        """Whether central releases can read it: reports have public weights."""
        ...

    @property
    def structure(self) -> MessageStructure | None:
        """The form of a message; None if features that need it are not available."""

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of the labels that one report is about: all, or t of m."""
        ...

    @property
    def public_outcomes(self) -> int:
        """The number of equally likely public parts of a payload; 1 if it has none."""
        ...

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return one payload.

        `coins` are keyed by the value. The public part of a report, such as which bits it has, is
        drawn from `public`, which is keyed by anything but the value. Without `public` it is drawn
        from `coins`. Raises DomainError, which never repeats the value, unless the value is
        encoded.
        """
        ...

    def supports(self, payload: bytes, label: int) -> bool | None:
        """Whether a payload supports a label; None if it is not about the label."""

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError for a payload that `randomize` cannot give."""

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 65,536 payloads.
        """
        ...

    def inputs(self) -> Iterator[int | tuple[int, ...]]:
        """Yield every input that ε covers: it covers any two of them."""
        ...


class Memoizable(Mechanism, Protocol):
    """A mechanism whose payload is symbols; each can be kept or drawn again independently."""

    @property
    def alphabet_size(self) -> int:
        """K: the number of values of one symbol."""
        ...

    @property
    def support_size(self) -> int:
        """w: the number of these values that support one label."""
        ...

    @property
    def coordinates(self) -> int:
        """The number of symbols in a payload."""
        ...

    @property
    def max_differing_coordinates(self) -> int:
        """The most symbols in which two inputs can differ; ε is split over them."""
        ...

    @property
    def range_error(self) -> float | None:
        """n times the mean variance of a range of values; None without levels of a scale."""

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep each symbol of a payload with probability keep/2^64, else draw it among all K."""
        ...

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload that `rerandomize` can give."""
        ...


class MechanismClass(Protocol):
    """A mechanism in the registry, before its parameters are fixed."""

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
        """Names of the integers that a manifest stores besides the domain and ε, if any.

        An instance has each of them as an attribute.
        """
        ...

    @property
    def releasable(self) -> bool:
        """Whether central releases can read it: reports have public weights."""
        ...

    @property
    def targets(self) -> frozenset[str]:
        """What it can be best at besides labels: "mean", "ranges", "tables", "texts".

        "allocations" if a report is one label and a tally the histogram of reports.
        """
        ...

    @property
    def compared_from(self) -> int:
        """The least ε of a report at which it may be the best for a target."""
        ...

    def create(
        self, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Memoizable:
        """Return the mechanism at ε. Parameters that are not `given` fit the ε of one `report`.

        `given` holds some of `parameters`, and "distance" for bits.
        """
        ...


class RecordMechanismClass(Protocol):
    """A mechanism in the registry that is made for records, and needs their shape."""

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
        """Return the mechanism at ε for attributes with these numbers of labels."""
        ...


def check_radices(radices: tuple[int, ...]) -> None:
    """Raises ParameterError unless there are 2 to 64 attributes of two or more labels each."""
    if not 2 <= len(radices) <= MAX_ATTRIBUTES:
        raise ParameterError(
            f"radices must be those of 2 to {MAX_ATTRIBUTES} attributes, got {len(radices)}"
        )
    for radix in radices:
        if not 2 <= radix <= MAX_CHOICES:
            raise ParameterError(f"radices must each lie in [2, {MAX_CHOICES}], got {radix}")


class Chain(Mechanism, Protocol):
    """A permanent answer and its renewal for each report.

    All reports of one permanent answer together cost `epsilon_permanent`, each alone `epsilon`. p,
    q and pmf are those of one report.
    """

    @property
    def epsilon_permanent(self) -> Fraction:
        """The ε of one permanent answer, and so of all reports that renew it together."""
        ...

    @property
    def permanent_threshold(self) -> int:
        """T of 2^64 of the permanent answer."""
        ...

    @property
    def renewal_threshold(self) -> int:
        """A of 2^64: the chance that a symbol of the permanent answer is kept."""
        ...

    def memoize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return the answer to keep, drawn once a hold; the coins are those of `randomize`."""
        ...

    def rerandomize(self, permanent: bytes, coins: Coins) -> bytes:
        """Return one report of the answer. Raises DecodeError unless `permanent` is a payload.

        The coins are new for each report, keyed by the permanent answer and by no value.
        """
        ...

    def pmf_history(
        self, values: Sequence[int | Sequence[int]]
    ) -> dict[tuple[bytes, ...], Fraction]:
        """The exact probability of every sequence of reports in one hold, one for each value.

        The permanent answer is that of the first value; later values are not used. Raises
        ParameterError beyond 65,536 sequences.
        """
        ...
