"""Release: one drawn result with everything that may be published about it.

Every field is a function of the drawn result and of public facts: the mechanism, its parameters,
the number of candidates. Nothing here may read the data again. Facts that need the data (how far a
selection fell short, how many reports would change it) are separate functions for the data's owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.guarantee import Adjacency, Guarantee

Result = TypeVar("Result")

ONE_ROW = "one row of the data"
READERS = "anyone who sees the releases and not the data"


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """`quantity` is in [lower, upper], in its own unit, with probability at least `confidence`.

    The probability is over the mechanism's coins, for every data set. A missing end is None.
    """

    quantity: str
    lower: float | None
    upper: float | None
    confidence: float

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ParameterError(f"confidence must lie in (0, 1), got {self.confidence}")
        if self.lower is None and self.upper is None:
            raise ParameterError("an error bar must have an end, got none")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ParameterError(f"lower must be at most upper, got [{self.lower}, {self.upper}]")


@dataclass(frozen=True, slots=True)
class Release(Generic[Result]):
    """A result with the law it was drawn from, its guarantee, and its error bar.

    `protects` is the unit in which neighbours differ, `against` the readers for whom the guarantee
    holds.
    """

    result: Result
    law: str
    guarantee: Guarantee
    error_bars: tuple[ErrorBar, ...]
    protects: str = ONE_ROW
    against: str = READERS

    @property
    def epsilon(self) -> Fraction | None:
        return self.guarantee.epsilon

    @property
    def rho(self) -> Fraction | None:
        return self.guarantee.rho

    @property
    def delta(self) -> Fraction:
        return self.guarantee.delta

    @property
    def adjacency(self) -> Adjacency:
        """The data sets that the guarantee calls neighbours."""
        return self.guarantee.adjacency
