"""Number: a quantity between two declared ends, rounded to the nearest of equal steps.

A value outside the ends is reported as the nearer end: the clipping is part of the question.
Values are rounded to the nearest step, halves upwards. This moves a mean by at most half a step.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains.choice import MAX_CHOICES
from deniable_shared.domains.labels import bytes_for, check_fields
from deniable_shared.errors import DomainError, ManifestError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECIMAL = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?")
_MILLIONTHS = 10**6
_FEW = 4
_REACH = 18  # digits: beyond all ends, and below half a step of 10^-6


@dataclass(frozen=True, slots=True)
class Number:
    """`low`, `low` + `step`, …, `high`: exact decimals with at most six places.

    Raises ManifestError unless low < high, step > 0 and 2 to 65,536 steps end exactly at high.
    """

    type: ClassVar[str] = "number"
    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            given = getattr(self, name)
            if not isinstance(given, Fraction) or _MILLIONTHS % given.denominator:
                raise ManifestError(f"domain {name} must be a decimal of at most six places")
        if self.step <= 0 or self.low >= self.high:
            raise ManifestError("domain must have low < high and step > 0")
        steps = (self.high - self.low) / self.step
        if steps.denominator != 1 or steps >= MAX_CHOICES:
            raise ManifestError(
                f"domain high must be low plus 1 to {MAX_CHOICES - 1:,} whole steps, "
                f"got {float(steps):g} steps"
            )

    @property
    def size(self) -> int:
        """The number of possible values, d."""
        return int((self.high - self.low) / self.step) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """All values as decimal texts, in rising order."""
        return _labels(self)

    @property
    def topics(self) -> tuple[str, ...]:
        """The question's range, as people read it."""
        low, high, step = map(decimal_text, (self.low, self.high, self.step))
        return (f"a number from {low} to {high}, to the nearest {step}",)

    @property
    def mechanism_parameters(self) -> Mapping[str, int | tuple[int, ...]]:
        """Empty: no parameter of the mechanism follows from the domain."""
        return {}

    def value(self, index: int) -> Fraction:
        """Return the number of an index."""
        return self.low + index * self.step

    def encode(self, value: object) -> int:
        """Return the index of the nearest step.

        Takes int, float, Decimal, Fraction, whole numbers of other libraries and decimal text.
        Raises DomainError for anything that is no finite number.
        """
        steps = (_number(value) - self.low) / self.step
        return min(max(math.floor(steps + Fraction(1, 2)), 0), self.size - 1)

    @property
    def steps(self) -> str:
        """All values, as people read them: of many only the first two and the last."""
        if self.size <= _FEW:
            return ", ".join(self.labels)
        first, second, last = map(decimal_text, (self.low, self.value(1), self.high))
        return f"{first}, {second}, …, {last}"

    def place(self, value: object) -> int:
        """Return the index of a value that is a step, so without rounding or clipping.

        Raises DomainError, which names the steps, for any other value.
        """
        index = self.encode(value)
        if self.value(index) != _number(value):
            raise DomainError(f"value must be one of {self.steps}")
        return index

    def canonical(self, encoded: int) -> bytes:
        """Return the index, big-endian, as wide as the last one: the bytes that key the coins."""
        return encoded.to_bytes(bytes_for(self.size), "big")

    def decode(self, encoded: int) -> str:
        """Return the answer in a manifest's spelling: its decimal text."""
        return decimal_text(self.value(encoded))

    def to_json(self) -> dict[str, object]:
        """Return the document that `parse_domain` reads."""
        ends = {name: decimal_text(getattr(self, name)) for name in ("low", "high", "step")}
        return {"type": self.type, **ends}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Read what `to_json` returns. Raises ManifestError for anything else."""
        check_fields(document, "type", "low", "high", "step")
        return cls(*(_end(document, name) for name in ("low", "high", "step")))


def decimal_text(number: Fraction) -> str:
    """Return the shortest decimal of a number. Raises DomainError beyond six places."""
    whole = number * _MILLIONTHS
    if whole.denominator != 1:
        raise DomainError("number must be a decimal of at most six places")
    digits = f"{abs(int(whole)):07d}"
    places = digits[-6:].rstrip("0")
    sign = "-" if whole < 0 else ""
    return f"{sign}{digits[:-6]}" + (f".{places}" if places else "")


def _end(document: Mapping[str, object], name: str) -> Fraction:
    text = document.get(name)
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise ManifestError(
            f'domain {name} must be a decimal text of at most six places, like "0.5", '
            f"got {text!r:.80}"
        )
    number = Fraction(text)
    if decimal_text(number) != text:
        raise ManifestError(
            f"domain {name} must be spelled {decimal_text(number)}, got {text!r:.80}"
        )
    return number


def _number(value: object) -> Fraction:
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value):
            return Fraction(value)
        raise DomainError("value must be a number, or the text of a decimal of at most six places")
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        if isinstance(value, Integral) and not isinstance(value, bool):  # as numpy's
            return Fraction(int(value))
        raise DomainError(f"value must be a number, got {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise DomainError("value must be finite")
    return _decimal(value) if isinstance(value, Decimal) else Fraction(value)


def _decimal(value: Decimal) -> Fraction:
    """Return the value, cut outside every domain, so that an exponent costs no time or memory."""
    if not value.is_finite():
        raise DomainError("value must be finite")
    if value and value.adjusted() > _REACH:
        return Fraction(10**_REACH) * (-1 if value < 0 else 1)
    return Fraction(0) if value.adjusted() < -_REACH else Fraction(value)


@lru_cache(maxsize=64)
def _labels(domain: Number) -> tuple[str, ...]:
    return tuple(map(domain.decode, range(domain.size)))
