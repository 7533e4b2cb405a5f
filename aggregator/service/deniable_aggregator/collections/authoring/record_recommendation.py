"""Recommends the mechanism of a record: the least error for two attributes together.

Compared is n·Var of a cell of a table of two attributes, the mean over all cells of all pairs, in a
population where every combination is equally frequent. In exact fractions:

    product coding   the sum of size/(r_i·r_j) choices of one mechanism (`joint_supports`)
    pairs/1          P·s(1 − s)/(p − q)²             s = q + (p − q)/(r_i·r_j)
    fourier/1        C·3/(16·(p − q)²)               three parities, all of mean 0

Product coding also has every table of three attributes and more, so it is chosen if it is within
5% of the best.
Source: docs/mathematics/planning.md, The mechanism of a question.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Mechanism, for_domain, ids_for_target
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from deniable_shared.domains import Record

_AS_GOOD = Fraction(21, 20)
_TABLE = 2


@runtime_checkable
class AttributeSampler(Protocol):
    """A mechanism for records whose reports contain some attributes."""

    @property
    def disclosure(self) -> str:
        """The part of a record that a report contains, in words."""

    def cell_errors(self, kept: Fraction) -> Mapping[int, Fraction]:
        """n·Var of a cell of two attributes, by how many cells they have."""

    def cell_gap(self, gap: float) -> float:
        """p − q of a report for a cell of two attributes, from p − q of the report."""

    def cell_influence(self, gap: float) -> float:
        """The most that one report moves n times a cell's frequency, from p − q of the report."""


def best_record_mechanism(
    domain: Record, epsilon: Fraction, *, fits: Callable[[Mechanism], bool] = lambda _: True
) -> Mechanism:
    """The mechanism with the least error among those that fit, or among all if none fits.

    Raises ParameterError if there is none at all.
    """
    errors = [
        (two_way_error(each, domain.radices), each)
        for each in candidate_mechanisms(domain, epsilon)
    ]
    fitting = [(error, each) for error, each in errors if fits(each)] or errors
    if not fitting:
        raise ParameterError(
            "domain attributes must have fewer labels: no mechanism answers for a record of which "
            "two have more than 4,096 pairs of labels"
        )
    enough = min(error for error, _ in fitting) * _AS_GOOD
    near = [(not is_product(each), error, each) for error, each in fitting if error <= enough]
    return min(near, key=lambda ranked: ranked[:2])[2]


def candidate_mechanisms(domain: Record, epsilon: Fraction) -> Iterator[Mechanism]:
    """Every compared mechanism that can answer for the domain."""
    for mechanism_id in ids_for_target("tables"):
        with suppress(ParameterError):  # too many combinations, or more than two labels
            mechanism = for_domain(mechanism_id, domain, epsilon)
            if mechanism.structure is not None:
                yield mechanism


def is_product(mechanism: Mechanism) -> bool:
    """Whether a report contains all attributes together."""
    return "choice" in mechanism.domain_types


def two_way_error(mechanism: Mechanism, radices: tuple[int, ...]) -> Fraction:
    """n·Var of a cell of two attributes, by the formulas above.

    ParameterError for marginals of one attribute only, and for a mechanism without such an error.
    """
    sizes = [radices[i] * radices[j] for i, j in combinations(range(len(radices)), _TABLE)]
    first, kept = mechanism, Fraction(1)
    if isinstance(mechanism, MemoizedChain):
        first, kept = mechanism.first, mechanism.keep_probability
    of_size: Mapping[int, Fraction]
    if isinstance(first, AttributeSampler):
        of_size = first.cell_errors(kept)
    else:
        law, size = JointSupports.of(mechanism), mechanism.domain_size
        of_size = {each: law.variance(size // each, Fraction(1, each)) for each in {*sizes}}
    return sum((size * of_size[size] for size in sizes), Fraction()) / sum(sizes)
