"""One of several choices, drawn publicly, sent by subset selection at full ε.

    place uniform among the P choices, drawn without the value
    the code that the value has in that choice of d, sent by `subset/1` at ε with its best w

The drawn choice does not depend on the value, so the report costs what one choice costs: ε. With
the best w, a choice has the least possible total error (`optimal_error`).

A choice of few codes has a larger share w/d than one of many, and so a smaller T. `threshold`, p
and q are those of the choice of least w/d. In a chain that choice decides A: the A that keeps ε
rises with w/d, so it keeps ε for all the others, too (docs/mathematics/repeated-answers.md, The
second round, with ρ = w/d: A/2^64 is at most (E − 1)(ρE′ + 1 − ρ)/((E′ − 1)(ρE + 1 − ρ)), E′ of the
permanent answer).

Payload: the place, big-endian, in as few whole bytes as hold P − 1; then that of the choice, zero
padded to the longest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.domains import bytes_for
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.structure import OneOfParts
from deniable_shared.mechanisms.subset import SubsetResponse
from deniable_shared.mechanisms.symbol_payload import IndexInput
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins

_MAX_PAYLOADS = 65_536


@dataclass(frozen=True, slots=True)
class OneOfChoices(IndexInput, ABC):
    """`choices` are the best for one report; `sparsest` is the one of least w/d."""

    part_name: ClassVar[str] = "choice"
    choices: tuple[SubsetResponse, ...] = field(init=False, repr=False)
    sparsest: SubsetResponse = field(init=False, repr=False)
    payload_size: int = field(init=False)
    _head: int = field(init=False, repr=False)

    def _prepare(self, sizes: Sequence[int], epsilon: Fraction, report: Fraction) -> None:
        """Set the fields: a choice of each size."""
        by_size = {size: _choice(size, parse_epsilon(epsilon), report) for size in {*sizes}}
        head = bytes_for(len(sizes))
        object.__setattr__(self, "choices", tuple(by_size[size] for size in sizes))
        object.__setattr__(self, "sparsest", min(by_size.values(), key=_share))
        object.__setattr__(self, "_head", head)
        longest = max(choice.payload_size for choice in by_size.values())
        object.__setattr__(self, "payload_size", head + longest)

    @abstractmethod
    def code(self, index: int, place: int) -> int:
        """Return the code that a value has in one of the choices."""

    @property
    @abstractmethod
    def domain_size(self) -> int:
        """The number of values."""

    @property
    def tally_size(self) -> int:
        """One count of reports per choice, then for each choice one count of supports per code."""
        return len(self.choices) + sum(choice.domain_size for choice in self.choices)

    @property
    def threshold(self) -> int:
        """T of the choice of least w/d; those of the others also follow from ε."""
        return self.sparsest.threshold

    @property
    def p(self) -> Fraction:
        """Exact probability that the true code of that choice is supported."""
        return self.sparsest.p

    @property
    def q(self) -> Fraction:
        """Exact probability that one given other code of that choice is supported."""
        return self.sparsest.q

    @property
    def alphabet_size(self) -> int:
        """The number of sets of codes of that choice; a symbol is one of them."""
        return self.sparsest.alphabet_size

    @property
    def support_size(self) -> int:
        """The number of sets that contain one code of that choice."""
        return self.sparsest.support_size

    @property
    def sampling_fraction(self) -> Fraction:
        """One choice of P."""
        return Fraction(1, len(self.choices))

    @property
    def public_outcomes(self) -> int:
        """P, the number of choices."""
        return len(self.choices)

    @property
    def structure(self) -> OneOfParts:
        """A set of one of the choices."""
        return OneOfParts(tuple(choice.structure for choice in self.choices))

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw the place by `public`, its code by `coins`.

        Raises DomainError unless 0 ≤ value < size.
        """
        index = self._checked(value)
        place = (coins if public is None else public).below(len(self.choices))
        answer = self.choices[place].randomize(self.code(index, place), coins)
        return self._payload(place, answer)

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep the choice, and its set with probability keep/2^64, else draw any such set."""
        place, answer = self.read(permanent)
        return self._payload(place, self.choices[place].rerandomize(answer, keep, coins))

    def read(self, payload: bytes) -> tuple[int, bytes]:
        """Return the place of the choice, and the payload for it."""
        place = int.from_bytes(payload[: self._head], "big")
        return place, payload[self._head : self._head + self.choices[place].payload_size]

    def _payload(self, place: int, answer: bytes) -> bytes:
        return (place.to_bytes(self._head, "big") + answer).ljust(self.payload_size, b"\0")

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether it supports the code that a value has in the reported choice."""
        place, answer = self.read(payload)
        return self.choices[place].supports(answer, self.code(self._checked(label), place))

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless `payload` names a choice and one of its sets, zero padded."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload[: self._head], "big") >= len(self.choices):
            raise DecodeError(
                f"payload must name a {self.part_name} in [0, {len(self.choices) - 1}]"
            )
        place, answer = self.read(payload)
        if any(payload[self._head + len(answer) :]):
            raise DecodeError("payload must be padded with zeros")
        self.choices[place].validate(answer)

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 65,536 payloads.
        """
        index = self._checked(value)
        if sum(choice.alphabet_size for choice in self.choices) > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf: use fewer labels"
            )
        return {
            self._payload(place, answer): self.sampling_fraction * chance
            for place, choice in enumerate(self.choices)
            for answer, chance in choice.pmf(self.code(index, place)).items()
        }

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload that `rerandomize` can give."""
        place, answer = self.read(permanent)
        law = self.choices[place].rerandomized_pmf(answer, keep)
        return {self._payload(place, drawn): chance for drawn, chance in law.items()}


def _share(choice: SubsetResponse) -> tuple[Fraction, int]:
    """Return w/d; the smaller choice wins a tie, so that the result is unique."""
    return Fraction(choice.subset_size, choice.domain_size), choice.domain_size


def _choice(size: int, epsilon: Fraction, report: Fraction) -> SubsetResponse:
    return SubsetResponse.create(size, epsilon, report=report, given={})
