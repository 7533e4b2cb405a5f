"""What a release guarantees: to one report, to an installation with J reports, to the true values.

    one report         ε_c, δ_c, ρ
    one installation   J·ε_c, δ of a group of J, J²·ρ
    its true values    contraction of the two: J·ε_c after the local ε of all its answers; only
                       if nothing but releases can be read
    local              what the answers alone guarantee against every reader of reports

The local ε is min(J · report, lifetime) for fresh answers, permanent · holds for memoized ones.
Blocks of reports are blocks of c0 = J rows (`stability.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_central.accounting.contraction import contracted_guarantee
from deniable_central.accounting.group import group_guarantee, replacement_guarantee
from deniable_central.accounting.parameters import Epsilon, read_count, read_epsilon
from deniable_central.errors import AccountError
from deniable_central.guarantee import Adjacency, Guarantee

if TYPE_CHECKING:
    from fractions import Fraction

READABLE = ("live", "closed", "releases")


@dataclass(frozen=True, slots=True)
class Installation:
    """The most that one installation has in what a release reads: J reports and their local ε."""

    reports: int
    local: Fraction

    def __post_init__(self) -> None:
        read_count(self.reports, argument="reports")
        if self.local <= 0:
            raise AccountError(f"local must be positive, got {float(self.local):.3g}")

    @classmethod
    def once(cls, *, report: Epsilon) -> Installation:
        """One report ever."""
        return cls(1, read_epsilon(report, argument="report"))

    @classmethod
    def fresh(cls, *, epochs: int, report: Epsilon, lifetime: Epsilon) -> Installation:
        """One new answer in each of the epochs read, as long as the lifetime pays."""
        each, most = _paid(report, lifetime)
        reports = min(read_count(epochs, argument="epochs"), most)
        return cls(reports, reports * each)

    @classmethod
    def memoized(
        cls, *, epochs: int, holds: int, permanent: Epsilon, lifetime: Epsilon
    ) -> Installation:
        """One report in each epoch read, with a permanent answer for each of their holds."""
        each, most = _paid(permanent, lifetime)
        tossed = min(read_count(holds, argument="holds"), most)
        return cls(read_count(epochs, argument="epochs"), tossed * each)


@dataclass(frozen=True, slots=True)
class Promise:
    """What to print with a release. `installation` is None if its δ would reach 1.

    `true_values` is the most that readers of the releases learn about one installation's answers.
    """

    reports: int
    report: Guarantee
    installation: Guarantee | None
    true_values: Guarantee
    local: Fraction


def promise(guarantee: Guarantee, installation: Installation, *, read: str) -> Promise:
    """Return the promise of one release, or of the `basic` sum of several.

    `read` is what analysts may read besides. Raises AccountError for an unknown `read`. Unless it
    is "releases", the true values have only the local ε.
    """
    if read not in READABLE:
        raise AccountError(f"read must be one of {', '.join(READABLE)}, got {read!r:.40}")
    report = replacement_guarantee(guarantee)
    group = _grouped(report, installation.reports)
    true_values = Guarantee.pure(installation.local, Adjacency.REPLACE)
    if read == "releases" and group is not None and group.epsilon is not None:
        true_values = contracted_guarantee(group, local=installation.local)
    return Promise(installation.reports, report, group, true_values, installation.local)


def _grouped(report: Guarantee, reports: int) -> Guarantee | None:
    try:
        return group_guarantee(report, reports)
    except AccountError:
        return None


def _paid(each: Epsilon, lifetime: Epsilon) -> tuple[Fraction, int]:
    """Return one answer's ε, and how many answers a lifetime pays for."""
    cost = read_epsilon(each, argument="report or permanent")
    whole = read_epsilon(lifetime, argument="lifetime")
    if not 0 < cost <= whole:
        raise AccountError("one answer must cost more than nothing and no more than the lifetime")
    return cost, int(whole / cost)
