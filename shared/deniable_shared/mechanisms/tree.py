"""Hierarchy: one level of a tree over the values, drawn publicly, sent as a set of nodes at full ε.

    level i uniform among the h levels below the root, drawn without the value
    ⌊x / B^(h − i)⌋, a choice among the d_i nodes of that level, sent by `subset/1` at ε

B = `fan_out` is a parameter. By default it is the largest whose mean error of a range, at the ε of
one report, is within 2% of the least (`range_error`): all values at once if there are few, else 4
to 8. Everything else is as in `one_of_choices`: ε is that of one level, and T, p and q are those of
the level of least w/d.

Sums over whole nodes answer a range with the noise of few nodes instead of that of every value in
it. Quantiles follow from ranges.

Payload: the level, 0 below the root, big-endian, in as few whole bytes as hold h − 1; then that of
the choice, zero padded to the longest.
Sources: Hay et al. 2010; Cormode, Kulkarni, Srivastava 2019; docs/mathematics/numbers.md, Trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.analysis.range_error import (
    best_fan_out,
    error_of_nodes,
    level_sizes,
    set_error,
)
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.one_of_choices import OneOfChoices

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

MAX_LEAVES = 2_048
"""The most values: reading all of them takes under a second."""


@dataclass(frozen=True, slots=True)
class TreeResponse(OneOfChoices):
    """D = `leaves` equally spaced values, B = `fan_out`; `choices` are the levels, leaves last."""

    id: ClassVar[str] = "tree/1"
    part_name: ClassVar[str] = "level"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"ranges"})
    parameters: ClassVar[tuple[str, ...]] = ("fan_out",)
    leaves: int
    epsilon: Fraction
    report: Fraction
    fan_out: int

    def __post_init__(self) -> None:
        _check_leaves(self.leaves)
        if not 2 <= self.fan_out <= self.leaves:
            raise ParameterError(f"fan_out must lie in [2, {self.leaves}], got {self.fan_out}")
        self._prepare(level_sizes(self.leaves, self.fan_out), self.epsilon, self.report)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`. The fan-out defaults to the best for a report."""
        _check_leaves(domain_size)
        fan_out = given["fan_out"] if given else best_fan_out(domain_size, report)
        return cls(domain_size, epsilon, report, fan_out)

    @property
    def domain_size(self) -> int:
        """D."""
        return self.leaves

    @property
    def range_error(self) -> float:
        """n times the mean variance of a range of values, for evenly spread answers."""
        sizes = [choice.domain_size for choice in self.choices]
        errors = [set_error(c.domain_size, c.subset_size, float(c.p)) for c in self.choices]
        return error_of_nodes(sizes, self.fan_out, errors)

    def code(self, index: int, place: int) -> int:
        """Return the node above a value at that level."""
        return int(index // self.fan_out ** (len(self.choices) - 1 - place))


def _check_leaves(leaves: int) -> None:
    if not 2 <= leaves <= MAX_LEAVES:
        raise ParameterError(
            f"domain_size must lie in [2, {MAX_LEAVES}], got {leaves}: choose a longer step"
        )
