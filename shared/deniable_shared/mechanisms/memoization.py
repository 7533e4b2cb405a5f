"""Chains: a permanent answer that each report renews, so that a question can run for years.

    permanent   each symbol by the mechanism at ε_permanent: supports the truth with P,
                each other label with Q; w of the K symbols support one label
    renewed     each symbol kept with probability a = A/2^64, else drawn uniformly among all K

    p = aP + (1 − a)w/K       q = aQ + (1 − a)w/K       A: the largest integer that keeps ε

One report has the law of the mechanism itself at ε, as close as 64 bits allow. Any number of
reports is post-processing of the permanent answer and costs ε_permanent. Changes inside a hold are
not reported. Sources: Erlingsson, Pihur, Korolova 2014; the exact second round:
docs/mathematics/repeated-answers.md, The second round.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, renewal_threshold

if TYPE_CHECKING:  # the registry of mechanisms imports this module
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deniable_shared.mechanisms.protocols import Memoizable
    from deniable_shared.mechanisms.structure import MessageStructure
    from deniable_shared.randomness.coins import Coins

MAX_HISTORIES = 65_536


@dataclass(frozen=True, slots=True)
class MemoizedChain:
    """The chain of a mechanism `first`, built at ε_permanent. `epsilon` is that of one report.

    Raises ParameterError unless epsilon < ε_permanent.
    """

    first: Memoizable
    epsilon: Fraction
    renewal_threshold: int = field(init=False)

    def __post_init__(self) -> None:
        epsilon = parse_epsilon(self.epsilon)
        if not epsilon < self.first.epsilon:
            raise ParameterError(
                f"permanent must be more than epsilon = {epsilon}, got {self.first.epsilon}: "
                "the permanent answer costs more than one report of it"
            )
        kept = renewal_threshold(
            self.first.threshold,
            epsilon / self.first.max_differing_coordinates,
            alphabet_size=self.first.alphabet_size,
            support_size=self.first.support_size,
        )
        object.__setattr__(self, "renewal_threshold", kept)

    @property
    def id(self) -> str:
        """The mechanism's id: a report of the chain is one of its reports."""
        return self.first.id

    @property
    def domain_types(self) -> frozenset[str]:
        """The mechanism's domain types."""
        return self.first.domain_types

    @property
    def domain_size(self) -> int:
        """The mechanism's domain size."""
        return self.first.domain_size

    @property
    def epsilon_permanent(self) -> Fraction:
        """The ε of one permanent answer, and so of all reports that renew it together."""
        return self.first.epsilon

    @property
    def payload_size(self) -> int:
        """The mechanism's payload size in bytes."""
        return self.first.payload_size

    @property
    def tally_size(self) -> int:
        """The mechanism's tally size."""
        return self.first.tally_size

    @property
    def threshold(self) -> int:
        """T of the permanent answer."""
        return self.first.threshold

    @property
    def permanent_threshold(self) -> int:
        """T of the permanent answer."""
        return self.first.threshold

    @property
    def keep_probability(self) -> Fraction:
        """Exact probability a that a symbol of the permanent answer is kept."""
        return Fraction(self.renewal_threshold, SCALE)

    @property
    def redraw_support(self) -> Fraction:
        """Exact probability (1 − a)w/K that a symbol is drawn again and supports a given label."""
        return (1 - self.keep_probability) * self.first.support_size / self.first.alphabet_size

    @property
    def p(self) -> Fraction:
        """Exact probability that one report supports the true label."""
        return self.keep_probability * self.first.p + self.redraw_support

    @property
    def q(self) -> Fraction:
        """Exact probability that one report supports one given other label."""
        return self.keep_probability * self.first.q + self.redraw_support

    @property
    def releasable(self) -> bool:
        """As for the mechanism."""
        return self.first.releasable

    @property
    def structure(self) -> MessageStructure | None:
        """The mechanism's structure: a report has its form."""
        return self.first.structure

    @property
    def sampling_fraction(self) -> Fraction:
        """As for the mechanism."""
        return self.first.sampling_fraction

    @property
    def public_outcomes(self) -> int:
        """As for the mechanism."""
        return self.first.public_outcomes

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return the first report of a permanent answer that is then discarded."""
        return self.rerandomize(self.memoize(value, coins, public), coins)

    def memoize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return the permanent answer to keep. Raises DomainError unless the value is encoded."""
        return self.first.randomize(value, coins, public)

    def rerandomize(self, permanent: bytes, coins: Coins) -> bytes:
        """Return one report. Raises DecodeError unless `permanent` is a payload."""
        self.first.validate(permanent)
        return self.first.rerandomize(permanent, self.renewal_threshold, coins)

    def supports(self, payload: bytes, label: int) -> bool | None:
        """As in the mechanism: a report has its form."""
        return self.first.supports(payload, label)

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless the mechanism can give this payload."""
        self.first.validate(payload)

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload of one report."""
        return {reports[0]: chance for reports, chance in self.pmf_history([value]).items()}

    def pmf_history(
        self, values: Sequence[int | Sequence[int]]
    ) -> dict[tuple[bytes, ...], Fraction]:
        """The exact probability of every sequence of reports in one hold, one for each value.

        The permanent answer is that of the first value; later values are not used. Raises
        ParameterError without values, and beyond 65,536 sequences.
        """
        if not values:
            raise ParameterError("values must hold at least one value")
        permanents = self.first.pmf(values[0])
        if len(permanents) ** len(values) > MAX_HISTORIES:
            raise ParameterError(
                f"values must allow at most {MAX_HISTORIES:,} sequences of reports, "
                f"got {len(permanents)} payloads in each of {len(values)} epochs"
            )
        laws = {
            permanent: self.first.rerandomized_pmf(permanent, self.renewal_threshold)
            for permanent in permanents
        }
        first = _common_denominator([permanents])
        each = _common_denominator(laws.values())
        history: dict[tuple[bytes, ...], int] = defaultdict(int)
        for permanent, law in laws.items():
            begun = int(permanents[permanent] * first)
            once = {payload: int(chance * each) for payload, chance in law.items()}
            for reports, ways in _repeated(once, len(values)):
                history[reports] += begun * ways
        all_ways = first * each ** len(values)
        return {reports: Fraction(ways, all_ways) for reports, ways in history.items()}

    def inputs(self) -> Iterator[int | tuple[int, ...]]:
        """Yield every input that ε covers: it covers any two of them."""
        return self.first.inputs()


def _common_denominator(laws: Iterable[Mapping[bytes, Fraction]]) -> int:
    """Sums in whole numbers need no common divisors."""
    return lcm(*(chance.denominator for law in laws for chance in law.values()))


def _repeated(law: Mapping[bytes, int], times: int) -> Iterator[tuple[tuple[bytes, ...], int]]:
    """Yield every sequence of independent draws and its weight."""
    if times == 0:
        yield (), 1
        return
    for drawn, weight in _repeated(law, times - 1):
        for payload, likely in law.items():
            yield (*drawn, payload), weight * likely
