"""Payloads of one symbol in a public place: the common part of such mechanisms.

    payload   place·K + symbol, big-endian, in as few whole bytes as hold the largest
    law       chance of the place · p/w for each of the w symbols that support the value there,
              chance of the place · (1 − p)/(K − w) for each other
    renewed   the same place, its symbol kept, or drawn again among all K

A mechanism defines `_supports_value`, which symbols support a value, and how one is drawn. The rest
follows from that. A payload without a public part has one place: 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms.base import MechanismBase
from deniable_shared.mechanisms.protocols import Memoizable
from deniable_shared.mechanisms.structure import Window
from deniable_shared.randomness.dyadic import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_shared.randomness.coins import Coins

_MAX_PAYLOADS = 65_536

_Value = TypeVar("_Value")


class _Indexed(Protocol):
    """What `IndexInput` needs."""

    @property
    def domain_size(self) -> int: ...


class IndexInput(MechanismBase):
    """Input of a mechanism whose values are the indices of its domain."""

    __slots__ = ()

    def _checked(self: _Indexed, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def inputs(self: _Indexed) -> Iterator[int]:
        """Yield every index."""
        return iter(range(self.domain_size))


class _Form(Memoizable, Protocol[_Value]):
    """What `SymbolPayload` needs."""

    def _checked(self, value: int | Sequence[int]) -> _Value: ...

    def _supports_value(self, place: int, symbol: int, value: _Value, /) -> bool: ...

    def _chance(self, place: int, /) -> Fraction: ...

    def _payload(self, place: int, symbol: int) -> bytes: ...

    def _read(self, payload: bytes) -> tuple[int, int]: ...


class SymbolPayload(MechanismBase, Generic[_Value]):
    """The payloads of such a mechanism; `_Value` is the type that `_checked` returns."""

    __slots__ = ()

    def _payload(self: _Form[_Value], place: int, symbol: int) -> bytes:
        return (place * self.alphabet_size + symbol).to_bytes(self.payload_size, "big")

    def _read(self: _Form[_Value], payload: bytes) -> tuple[int, int]:
        """Return the place and the symbol."""
        return divmod(int.from_bytes(payload, "big"), self.alphabet_size)

    def _chance(self: _Form[_Value], _place: int) -> Fraction:
        """Return the chance that a report has the place."""
        return Fraction(1, self.public_outcomes)

    def rerandomize(self: _Form[_Value], permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep the place, and its symbol with probability keep/2^64, else draw any of the K."""
        place, symbol = self._read(permanent)
        kept = coins.bernoulli(keep)
        drawn = coins.below(self.alphabet_size)  # always drawn: run time reveals nothing
        return self._payload(place, (drawn, symbol)[kept])

    def validate(self: _Form[_Value], payload: bytes) -> None:
        """Raises DecodeError unless `payload` is a place and its symbol in the right length."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload, "big") >= (
            messages := self.public_outcomes * self.alphabet_size
        ):
            raise DecodeError(f"payload must hold a number in [0, {messages - 1}]")

    def pmf(self: _Form[_Value], value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 65,536 payloads.
        """
        true, messages = self._checked(value), self.public_outcomes * self.alphabet_size
        if messages > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got {messages:,}: "
                "use a smaller domain"
            )
        law = ((1 - self.p) / (self.alphabet_size - self.support_size), self.p / self.support_size)
        return {
            self._payload(place, symbol): chance * law[self._supports_value(place, symbol, true)]
            for place in range(self.public_outcomes)
            for chance in (self._chance(place),)
            for symbol in range(self.alphabet_size)
        }

    def rerandomized_pmf(self: _Form[_Value], permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload that `rerandomize` can give."""
        place, _ = self._read(permanent)
        drawn = Fraction(SCALE - keep, SCALE * self.alphabet_size)
        law = {self._payload(place, symbol): drawn for symbol in range(self.alphabet_size)}
        law[permanent] += Fraction(keep, SCALE)
        return law


class IndexToSymbol(IndexInput, SymbolPayload[int]):
    """Both, if every report supports some indices and not the others."""

    __slots__ = ()

    def supports(self: _Form[int], payload: bytes, label: int) -> bool:
        """Whether the symbol in the payload supports a label."""
        return self._supports_value(*self._read(payload), label)


class _Windowed(Protocol):
    """What `WindowSymbol` needs."""

    @property
    def outputs(self) -> int: ...

    @property
    def window(self) -> int: ...

    @property
    def p(self) -> Fraction: ...

    def likely_windows(self) -> Sequence[Fraction]: ...


class WindowSymbol:
    """A symbol is one of `outputs`; those in the value's `window` are more likely."""

    __slots__ = ()

    @property
    def tally_size(self: _Windowed) -> int:
        """The number of outputs; each has a count of reports."""
        return self.outputs

    @property
    def q(self: _Windowed) -> Fraction:
        """Exact probability of a window that shares no output with the true one."""
        return (1 - self.p) * self.window / (self.outputs - self.window)

    @property
    def alphabet_size(self: _Windowed) -> int:
        """A symbol is an output."""
        return self.outputs

    @property
    def support_size(self: _Windowed) -> int:
        """The number of outputs in a window."""
        return self.window

    @property
    def structure(self: _Windowed) -> Window:
        """An output."""
        return Window(self.outputs, self.window, self.likely_windows)
