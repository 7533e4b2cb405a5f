"""Defaults of most mechanisms: one symbol a report, all of ε for it, no public part."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from deniable_shared.errors import DecodeError
from deniable_shared.randomness.dyadic import SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.mechanisms.structure import MessageStructure


class _Certified(Protocol):
    @property
    def threshold(self) -> int: ...


class MechanismBase:
    """Default answers of a mechanism; see `protocols.Memoizable` and `MechanismClass`."""

    __slots__ = ()

    parameters: ClassVar[tuple[str, ...]] = ()
    releasable: ClassVar[bool] = False
    targets: ClassVar[frozenset[str]] = frozenset()
    compared_from: ClassVar[int] = 0

    @property
    def coordinates(self) -> int:
        """One symbol."""
        return 1

    @property
    def support_size(self) -> int:
        """One value of a symbol supports one label."""
        return 1

    @property
    def max_differing_coordinates(self) -> int:
        """All of ε for one symbol."""
        return 1

    @property
    def public_outcomes(self) -> int:
        """No public part."""
        return 1

    @property
    def sampling_fraction(self) -> Fraction:
        """A report is about every label."""
        return Fraction(1)

    @property
    def range_error(self) -> float | None:
        """None: a report has no level of a scale."""
        return None

    @property
    def structure(self) -> MessageStructure | None:
        """None: the message is of no known kind."""
        return None

    @property
    def p(self: _Certified) -> Fraction:
        """Exact probability that a report supports the true label."""
        return Fraction(self.threshold, SCALE)


class _Plain(Protocol):
    def __init__(self, domain_size: int, epsilon: Fraction) -> None: ...


_PlainT = TypeVar("_PlainT", bound=_Plain)


class WithoutParameters:
    """A mechanism that domain and ε determine: `create` has nothing to choose."""

    __slots__ = ()

    @classmethod
    def create(
        cls: type[_PlainT],
        domain_size: int,
        epsilon: Fraction,
        *,
        report: Fraction,
        given: Mapping[str, int],
    ) -> _PlainT:
        """See `MechanismClass`."""
        return cls(domain_size, epsilon)


class PackedBits:
    """A payload of bits, the first most significant, zero padded to whole bytes."""

    __slots__ = ()

    payload_size: int
    _padding: int

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether the bit of a label is 1."""
        return bool(payload[label >> 3] >> (7 - (label & 7)) & 1)

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless `payload` has the right length and zero padding."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if payload[-1] & ((1 << self._padding) - 1):
            raise DecodeError(f"payload must end in {self._padding} zero bits")
