"""Privacy limits that are compiled into the app. No server and no manifest can raise them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable_client.errors import ConfigurationError
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.dyadic import parse_epsilon

__all__ = ["Ceiling"]

_MOST_REPORT = Fraction(20)
_MOST_LIFETIME = Fraction(99)


@dataclass(frozen=True, slots=True, init=False)
class Ceiling:
    """The most ε that this app ever spends on one person.

    `epsilon_per_report` (0.01…20) limits one report. `epsilon_permanent` (0.01…20) limits the
    permanent answer of one hold. `epsilon_lifetime` (0.01…99) limits everything that this
    installation ever sends, over all collections. Strings, ints and Fractions are exact.

    Raises ConfigurationError if a limit is out of range or a float.
    """

    epsilon_per_report: Fraction
    epsilon_permanent: Fraction
    epsilon_lifetime: Fraction

    def __init__(
        self,
        epsilon_per_report: str | int | Fraction,
        epsilon_permanent: str | int | Fraction,
        epsilon_lifetime: str | int | Fraction,
    ) -> None:
        self._set("epsilon_per_report", epsilon_per_report, _MOST_REPORT)
        self._set("epsilon_permanent", epsilon_permanent, _MOST_REPORT)
        self._set("epsilon_lifetime", epsilon_lifetime, _MOST_LIFETIME)

    def _set(self, argument: str, given: str | int | Fraction, most: Fraction) -> None:
        try:
            epsilon = parse_epsilon(given, argument=argument, high=most)
        except ParameterError as error:
            raise ConfigurationError(str(error)) from error
        object.__setattr__(self, argument, epsilon)

    def admits(self, epsilon_report: Fraction, epsilon_permanent: Fraction | None = None) -> bool:
        """Whether a report of this ε, and the permanent answer behind it, may leave the device."""
        permanent = Fraction(0) if epsilon_permanent is None else epsilon_permanent
        return epsilon_report <= min(
            self.epsilon_per_report, self.epsilon_lifetime
        ) and permanent <= min(self.epsilon_permanent, self.epsilon_lifetime)
