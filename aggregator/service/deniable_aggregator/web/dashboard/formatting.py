"""Numbers and times as people read them: a true minus, thin spaces, as many digits as are meant."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deniable_aggregator.documents.describe import four_digits, when
from deniable_shared.manifest.epochs import period_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOTHING = "–"
_MINUS = "−"
_NARROW = "\u202f"
_MOST_DIGITS = 4


def count(number: int | None) -> str:
    """1 234 567, with narrow spaces that do not break."""
    return NOTHING if number is None else _group_digits(f"{number:,}")


def share(value: float | None, digits: int = 1) -> str:
    """12.3 %, of a share of 1."""
    return NOTHING if value is None else f"{_round_text(100 * value, digits)}{_NARROW}%"


def chance(value: float) -> str:
    """97.5 %, never rounded to another one: six digits, and no more of them than there are."""
    return f"{100 * value:.6g}{_NARROW}%"


def amount(value: float | None, digits: int = 2) -> str:
    """A number in the units of its domain."""
    return NOTHING if value is None else _round_text(value, digits)


def rounded(value: float) -> str:
    """769 800 or 0.01183: four significant digits, without an exponent."""
    return _group_digits(four_digits(value))


def digits_for(widths: Iterable[float]) -> int:
    """Decimals that show the first digit of half a typical interval, at least one.

    Widths in what is shown: of shares in per cent.
    """
    finite_widths = sorted(width for width in widths if width > 0 and math.isfinite(width))
    if not finite_widths:
        return 1
    return min(
        max(-math.floor(math.log10(finite_widths[len(finite_widths) // 2] / 2)), 1), _MOST_DIGITS
    )


def moment(second: float, between: str = " ") -> str:
    """2027-01-15 12:34:56, UTC."""
    instant = datetime.fromtimestamp(second, UTC)
    return f"{instant:%Y-%m-%d}{between}{instant:%H:%M:%S}"


def day_words(seconds: int) -> str:
    """1 day, 7 days, 6 hours."""
    if seconds % 86_400 == 0:
        return plural(seconds // 86_400, "day")
    return plural(-(-seconds // 3_600), "hour")


def plural(number: int, one: str, many: str = "") -> str:
    """1 report, 2 reports."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _round_text(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("-")
    return _group_digits(text)


def _group_digits(text: str) -> str:
    return text.replace(",", _NARROW).replace("-", _MINUS)


FILTERS: tuple[Callable[..., str], ...] = (
    *(amount, chance, count, moment, period_name, plural, share, when),
)
"""What templates may use."""
