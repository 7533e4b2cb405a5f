"""Sampled pairs: two attributes of a record, drawn publicly, sent at full ε.

    (i, j) uniform among the P = m(m − 1)/2 pairs of attributes, drawn without the value
    x_i·r_j + x_j, a choice among d = r_i·r_j, sent by `subset/1` at ε with its best w for a report

Everything else is as in `one_of_choices`: the ε of the whole record is that of one choice, and T, p
and q are those of the pair of least w/d.

Payload: the place of the pair among (0, 1), (0, 2), …, (1, 2), …, big-endian, in as few whole bytes
as hold P − 1; then that of the choice, zero padded to the longest.
Sources: Nguyên et al. 2016; Cormode, Kulkarni, Srivastava 2018; docs/mathematics/records.md,
Sampled pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.domains import mixed_radix_digits
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.one_of_choices import OneOfChoices
from deniable_shared.mechanisms.protocols import check_radices
from deniable_shared.mechanisms.subset import MAX_SUBSET_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_PAIR_TALLY = 1 << 20
"""The most integers in a tally: 8 MiB."""


@dataclass(frozen=True, slots=True)
class SampledPairs(OneOfChoices):
    """Two of the attributes that have `radices` labels; `choices` are the best for a `report`."""

    id: ClassVar[str] = "pairs/1"
    part_name: ClassVar[str] = "pair"
    domain_types: ClassVar[frozenset[str]] = frozenset({"record"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"tables"})
    radices: tuple[int, ...]
    epsilon: Fraction
    report: Fraction
    pairs: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        check_radices(self.radices)
        pairs = tuple(combinations(range(len(self.radices)), 2))
        sizes = [self.radices[i] * self.radices[j] for i, j in pairs]
        _check_sizes(sizes)
        object.__setattr__(self, "pairs", pairs)
        self._prepare(sizes, self.epsilon, self.report)

    @classmethod
    def create(
        cls,
        radices: tuple[int, ...],
        epsilon: Fraction,
        *,
        report: Fraction,
        given: Mapping[str, int],
    ) -> Self:
        """See `RecordMechanismClass`."""
        return cls(radices, epsilon, report)

    @property
    def domain_size(self) -> int:
        """The number of combinations of all attributes."""
        return prod(self.radices)

    def code(self, index: int, place: int) -> int:
        """Return the labels of that pair as one index."""
        digits = mixed_radix_digits(index, self.radices)
        i, j = self.pairs[place]
        return digits[i] * self.radices[j] + digits[j]

    @property
    def disclosure(self) -> str:
        """What a report reveals about a record."""
        return (
            f"a report has one of {len(self.pairs):,} pairs of attributes, which one is "
            "public; of three attributes together nothing is known"
        )

    def cell_gap(self, gap: float) -> float:
        """A report about the pair is about its cells."""
        return gap

    def cell_influence(self, gap: float) -> float:
        """Half of what a report about the pair adds to one of its cells."""
        return 1 / (2 * gap * float(self.sampling_fraction))

    def cell_errors(self, kept: Fraction) -> dict[int, Fraction]:
        """n·Var of a cell of two attributes, by the number of their cells.

        It is P times the error of a cell if all reports are about it. `kept` is that of a chain,
        else 1.
        """
        return {
            choice.domain_size: JointSupports.of(choice, kept=kept).variance(  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
                1, Fraction(1, choice.domain_size)
            )
            / self.sampling_fraction
            for choice in {*self.choices}
        }


def _check_sizes(sizes: Sequence[int]) -> None:
    if max(sizes) > MAX_SUBSET_DOMAIN:
        raise ParameterError(
            f"two attributes must have at most {MAX_SUBSET_DOMAIN:,} pairs of labels, "
            f"got {max(sizes):,}: merge rare labels"
        )
    if len(sizes) + sum(sizes) > MAX_PAIR_TALLY:
        raise ParameterError(
            f"all pairs of attributes must have at most {MAX_PAIR_TALLY - len(sizes):,} pairs of "
            f"labels, got {sum(sizes):,}: ask for fewer attributes, or merge rare labels"
        )
