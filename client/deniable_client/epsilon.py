"""ε as a number that is exact inside and reads well when printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["Epsilon"]


class Epsilon(float):
    """A float that prints as a plain decimal and is a number in JSON. `exact` is its Fraction.

    Compare and add `exact`: the float is rounded.
    """

    __slots__ = ("exact",)
    exact: Fraction

    def __new__(cls, exact: Fraction) -> Self:
        number = super().__new__(cls, exact)
        number.exact = exact
        return number

    def __eq__(self, other: object) -> bool:  # or type checkers say that it equals no int
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __str__(self) -> str:
        return f"{float(self):.6f}".rstrip("0").rstrip(".")

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[Epsilon], tuple[Fraction]]:
        return Epsilon, (self.exact,)
