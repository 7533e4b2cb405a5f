"""Reads the arguments of a release exactly, and gives each one canonical form.

Arguments are texts, or whole numbers: a float is never exact. An error names the argument, the
accepted values, the given value, and the nearest accepted name.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.contract import Parameter
from deniable_central.samplers.noise import SMALLEST_DECAY
from deniable_central.selection.privacy_parameters import SMALLEST_EPSILON
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import format_epsilon, parse_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EPSILON = Parameter("epsilon", 'a decimal text like "0.5", from 0.000001 to 20')
EVEN = "even"
_DIGITS = Context(prec=60)
_SHARE = re.compile(r"[01](\.[0-9]{1,6})?")
_WEIGHT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_WHOLE = re.compile(r"[0-9]{1,9}")


def with_defaults(
    mechanism: str, accepted: Iterable[Parameter], arguments: Mapping[str, object]
) -> dict[str, object]:
    """The arguments with defaults. Raises ParameterError if one is unknown or missing."""
    by_name = {parameter.name: parameter for parameter in accepted}
    for name in arguments:
        if name not in by_name:
            raise ParameterError(
                f"{mechanism} has no argument {name!r:.80}{nearest(name, by_name)}"
            )
    for name, parameter in by_name.items():
        if parameter.default is None and name not in arguments:
            raise ParameterError(f"{mechanism} needs {name}: {parameter.accepted}")
    return {name: arguments.get(name, parameter.default) for name, parameter in by_name.items()}


def nearest(name: object, names: Iterable[str]) -> str:
    """The end of a sentence: the nearest name, then all names."""
    names = sorted(names)
    close = get_close_matches(str(name)[:80], names, n=1)
    meant = f": did you mean {close[0]}? " if close else ": "
    return f"{meant}there {'is' if len(names) == 1 else 'are'} {', '.join(names) or 'none'}"


def read_name(argument: str, value: object, names: Iterable[str]) -> str:
    """The value, if it is one of the names. Raises ParameterError for another."""
    names = tuple(names)
    if value not in names:
        raise ParameterError(f"{argument} must not be {value!r:.80}{nearest(value, names)}")
    return str(value)


def read_epsilon(value: object) -> Fraction:
    """ε in [10^−6, 20], from a text."""
    if not isinstance(value, str):
        raise ParameterError(f'epsilon must be a text in quotes, like "0.5", got {value!r:.40}')
    return parse_epsilon(value, low=SMALLEST_EPSILON)


def noise_decay(epsilon: Fraction, moves: int) -> Fraction:
    """The decay of noise on sums that one report moves by `moves` in all.

    Raises ParameterError if such noise cannot be drawn, so before the charge.
    """
    if epsilon < moves * SMALLEST_DECAY:
        least = Fraction(math.ceil(moves * SMALLEST_DECAY * 10**6), 10**6)
        raise ParameterError(
            f"epsilon must be at least {decimal_text(least)} here, as one report moves the sums "
            f"by up to {moves:,}, got {decimal_text(epsilon)}"
        )
    return epsilon / moves


def read_share(argument: str, value: object, *, whole: bool) -> Fraction:
    """A share above 0 and below 1, or at most 1 if `whole`, of at most six decimals."""
    share = Fraction(value) if isinstance(value, str) and _SHARE.fullmatch(value) else Fraction(0)
    if not 0 < share <= 1 or (share == 1 and not whole):
        end = "1]" if whole else "1)"
        raise ParameterError(
            f'{argument} must be a decimal text in (0, {end}, like "0.5", at most six digits '
            f"after the point, got {value!r:.40}"
        )
    return share


def read_whole(argument: str, value: object, *, low: int, high: int) -> int:
    """A whole number in [low, high], as an int or its digits."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(
            f"{argument} must be a whole number in [{low:,}, {high:,}], got {value!r:.40}"
        )
    return value


def read_prior(value: object, candidates: int) -> list[Fraction]:
    """A public weight above 0 for each candidate, from texts; an empty list if all are equal."""
    if value == EVEN:
        return []
    given = value.split(",") if isinstance(value, str) else value
    texts = [str(each).strip() for each in given] if isinstance(given, list) else []
    weights = [Fraction(text) if _WEIGHT.fullmatch(text) else Fraction(0) for text in texts]
    if len(weights) != candidates or not all(weights):
        raise ParameterError(
            f"prior must be a number above 0 for each of {candidates:,} candidates, like 5 or 0.5, "
            f"or even, got {value!r:.80}"
        )
    return weights


def decimal_text(value: Fraction) -> str:
    """The canonical text of an ε or a share."""
    return format_epsilon(value)


def delta_text(delta: Fraction) -> str:
    """The canonical text of a δ that was read from a decimal, like 1e-6."""
    exact = _DIGITS.divide(Decimal(delta.numerator), Decimal(delta.denominator))
    return format(exact.normalize(_DIGITS), "e")
