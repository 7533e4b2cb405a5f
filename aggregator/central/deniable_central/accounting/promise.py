"""What a release promises to whom: one report, one installation with J of them, the true values.

    one report         ε_c, δ_c, ρ
    one installation   J·ε_c, δ of a group of J, J²·ρ
    its true values    contraction of the two: J·ε_c after the local ε of all its answers; only
                       where nothing but releases can be read
    local              what the answers guarantee by themselves, to whoever reads them: never less

The local ε: min(J · report, lifetime) of fresh answers, permanent · holds of memoized ones. Blocks
of reports are blocks of c0 = J rows (`ptr.Blocks`).
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
    """The most that one installation can have in what a release reads: J reports, their local ε."""

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
        """One new answer in each of the epochs read, for as long as the lifetime pays."""
        each, most = _paid(report, lifetime)
        reports = min(read_count(epochs, argument="epochs"), most)
        return cls(reports, reports * each)

    @classmethod
    def memoized(
        cls, *, epochs: int, holds: int, permanent: Epsilon, lifetime: Epsilon
    ) -> Installation:
        """A report in each epoch read, behind a permanent answer for each of their holds."""
        each, most = _paid(permanent, lifetime)
        tossed = min(read_count(holds, argument="holds"), most)
        return cls(read_count(epochs, argument="epochs"), tossed * each)


@dataclass(frozen=True, slots=True)
class Promise:
    """What to print beside a release. `installation` is None where its δ would reach 1.

    `true_values` is what readers of the releases learn at most about one installation's answers.
    """

    reports: int
    report: Guarantee
    installation: Guarantee | None
    true_values: Guarantee
    local: Fraction


def promise(guarantee: Guarantee, installation: Installation, *, read: str) -> Promise:
    """Of one release, or of the `basic` sum of several; `read` is what analysts may read besides.

    AccountError for another `read`. Unless it is "releases" the true values have the local ε alone.
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
    """One answer's ε, and how many of them a lifetime pays for."""
    cost = read_epsilon(each, argument="report or permanent")
    whole = read_epsilon(lifetime, argument="lifetime")
    if not 0 < cost <= whole:
        raise AccountError("one answer must cost more than nothing and no more than the lifetime")
    return cost, int(whole / cost)
