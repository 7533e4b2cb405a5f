"""Reads the values of a manifest one by one. Errors name the field."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from deniable_shared.errors import ManifestError
from deniable_shared.manifest.fields import check_supported
from deniable_shared.randomness.dyadic import format_epsilon, parse_epsilon
from deniable_shared.wire.canonical import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[a-z0-9-]{1,64}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DELTA = re.compile(r"0(\.[0-9]{1,12})?")
_SHARE = re.compile(r"1|0\.[0-9]{0,11}[1-9]")
_THRESHOLD = re.compile(r"0x[0-9a-f]{16}")
_MAX_DELTA = Fraction(1, 100)
_MAX_TEXT = 200
_ANY = Fraction(100)


class FieldReader:
    """Reads flat values. Each ManifestError names the field, what it accepts and what was given."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def one_of(self, path: str, accepted: tuple[str, ...]) -> str:
        """Return one of the `accepted` words."""
        value = self._values[path]
        if not isinstance(value, str) or value not in accepted:
            self._refuse(path, "one of " + ", ".join(accepted))
        return value

    def supported(self, path: str) -> object:
        """Return a value that this version supports."""
        check_supported(path, self._values[path])
        return self._values[path]

    def text(self, path: str) -> str:
        """Return 1…200 printable characters."""
        value = self._values[path]
        if not isinstance(value, str) or not 1 <= len(value) <= _MAX_TEXT:
            self._refuse(path, f"1…{_MAX_TEXT} characters")
        if not value.isprintable():
            self._refuse(path, "printable characters in one line")
        return value

    def name(self, path: str, longest: int = 64) -> str:
        """Return an identifier."""
        value = self._values[path]
        if not isinstance(value, str) or not _NAME.fullmatch(value) or len(value) > longest:
            self._refuse(path, f"1…{longest} characters of a-z, 0-9 and -")
        return value

    def matching(self, path: str, pattern: re.Pattern[str], form: str) -> str:
        """Return a text of a fixed form."""
        value = self._values[path]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self._refuse(path, form)
        return value

    def integer(self, path: str, low: int, high: int) -> int:
        """Return an integer within bounds."""
        value = self._values[path]
        if type(value) is not int or not low <= value <= high:
            self._refuse(path, f"an integer in {low:,}…{high:,}")
        return value

    def epsilon(self, path: str, low: Fraction, high: Fraction) -> Fraction:
        """Return a decimal string, read exactly. Its form is checked before any arithmetic."""
        value = self._values[path]
        if not isinstance(value, str):
            self._refuse(path, 'a decimal in a string, like "0.5"')
        epsilon = parse_epsilon(value, argument=path, low=Fraction(0), high=_ANY)
        if not low <= epsilon <= high:
            self._refuse(path, f"{format_epsilon(low)}…{format_epsilon(high)}")
        return epsilon

    def delta(self, path: str) -> Fraction:
        """Return a decimal string in 0…0.01."""
        value = self.matching(path, _DELTA, 'a decimal in a string, like "0.000001"')
        if Fraction(value) > _MAX_DELTA:
            self._refuse(path, "0…0.01")
        return Fraction(value)

    def share(self, path: str) -> Fraction:
        """Return a decimal string above 0 and up to 1, in its only spelling."""
        form = 'a decimal in a string, above "0" and up to "1", without zeros at its end'
        return Fraction(self.matching(path, _SHARE, form))

    def flag(self, path: str) -> bool:
        """Return true or false."""
        value = self._values[path]
        if not isinstance(value, bool):
            self._refuse(path, "true or false")
        return value

    def threshold(self, path: str) -> int:
        """Return an integer of 64 bits, given in hex."""
        return int(self.matching(path, _THRESHOLD, '"0x" and 16 hex digits'), 16)

    def day(self, path: str) -> date:
        """Return a date, given as YYYY-MM-DD."""
        value = self.matching(path, _DAY, "a date, like 2027-06-01")
        try:
            return date.fromisoformat(value)
        except ValueError:
            self._refuse(path, "a date of the calendar, like 2027-06-01")

    def _refuse(self, path: str, accepted: str) -> NoReturn:
        raise ManifestError(f"{path} must be {accepted}, got {quote(self._values[path])}")
