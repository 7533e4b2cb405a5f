"""Tree: the shares of the nodes of each level, made consistent by weighted least squares.

    y_l = (c_l/n_l − q)/(p − q)        minimise Σ_l λ_l·|S_l x − y_l|² subject to Σ x = 1

S_l sums the values under each node, λ_l = n_l/e_l, and e_l·(I − 1/d)/n_l is the covariance of y_l
where people are spread evenly. The shares of a level add up to 1 by themselves, so with the root
known this is generalized least squares: the best linear unbiased estimate there (Hay et al. 2010
have it for equal variances and whole trees).

What it makes of a functional a follows in two passes over the tree, without a matrix. With σ and α
of the children added up, a node of weight λ passes on σ/(1 + λσ) and α/(1 + λσ); leaves 1/λ and
a/λ. From the root's m = α/σ down each node has m′ = m + λ(α − mσ)/(1 + λσ), and

    θ̂ = m_root + Σ_nodes (m′ − m)·y + Σ_leaves (a − m)·y

so that the coefficients on each way to a leaf add up to a: θ̂ is unbiased whatever the weights.
Tally: see `one_of_choices`. Source: local-dp §11.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.inference.payload_arrays import Payloads, checked_tally, first_round_as
from deniable_estimators.inference.strata import Strata, Stratum
from deniable_estimators.mechanisms.one_of_choices import sample_tally_of, supports_of, tally_of
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.tree import TreeResponse

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.sampling import Generator
    from deniable_shared.mechanisms.subset import SubsetResponse


@dataclass(frozen=True, slots=True)
class TreeEstimator(HierarchyEstimator):
    """The estimator of "tree/1"."""

    @property
    def _first_round(self) -> TreeResponse:
        return first_round_as(self.mechanism, TreeResponse, TreeResponse.id)

    @property
    def _fan_out(self) -> int:
        return self._first_round.fan_out

    def tally(self, payloads: Payloads) -> Counts:
        return tally_of(payloads, self._first_round)

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Each choice is told by those who tossed it."""
        return sample_tally_of(self.mechanism, self._first_round, values, people, draws)

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        supports_of(counts, reports, self._first_round)
        return counts, reports

    def _strata(self, rows: Floats, counts: Counts, n: int) -> Strata:
        form, chain = self._first_round, self.mechanism
        reports, supports = supports_of(counts, n, form)
        kept = chain.keep_probability if isinstance(chain, MemoizedChain) else Fraction(1)
        laws = [_Level(choice, kept) for choice in form.choices]
        shares = np.where(reports > 0, reports, 1)  # of a level that nobody told of nothing is used
        weights = [share / law.error for share, law in zip(shares.tolist(), laws, strict=True)]
        constant, nodes = coefficients(rows, form.fan_out, weights)
        levels = tuple(
            law.stratum(coefficient, law.shares(part, max(int(n_l), 1)))
            for law, coefficient, part, n_l in zip(laws, nodes, supports, reports, strict=True)
        )
        return Strata(constant, reports, levels)


def coefficients(
    rows: Floats, fan_out: int, weights: list[float]
) -> tuple[Floats, tuple[Floats, ...]]:
    """What least squares make of functionals (k, D): a constant (k,), and (k, nodes) a level.

    `weights` are the λ of the levels, leaves last.
    """
    alphas, sigmas = rows / weights[-1], np.full(rows.shape[1], 1 / weights[-1])
    passed: list[tuple[float, Floats, Floats]] = []
    for weight in [*reversed(weights[:-1]), 0.0]:
        firsts = np.arange(0, len(sigmas), fan_out)
        sigmas = np.add.reduceat(sigmas, firsts)
        alphas = np.add.reduceat(alphas, firsts, axis=1)
        passed.append((weight, alphas, sigmas))
        alphas, sigmas = alphas / (1 + weight * sigmas), sigmas / (1 + weight * sigmas)
    offset = alphas / sigmas
    constant, nodes = offset[:, 0], []
    for weight, alpha, sigma in reversed(passed[:-1]):
        above = _spread(offset, fan_out, len(sigma))
        nodes.append(weight * (alpha - above * sigma) / (1 + weight * sigma))
        offset = above + nodes[-1]
    nodes.append(rows - _spread(offset, fan_out, rows.shape[1]))
    return constant, tuple(nodes)


def _spread(offset: Floats, fan_out: int, nodes: int) -> Floats:
    """Each parent's beside all of its children."""
    return np.repeat(offset, fan_out, axis=1)[:, :nodes]


class _Level:
    """The law of one report's sum of coefficients over its set of w of d nodes."""

    def __init__(self, choice: SubsetResponse, kept: Fraction) -> None:
        self._joint = JointSupports.of(choice, kept=kept)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
        self._permanent = JointSupports.of(choice)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
        self._size = choice.subset_size
        d, w = choice.domain_size, choice.subset_size
        self.error = float(w * (d - w) / (d * (d - 1) * self._joint.gap**2))

    def shares(self, supports: Counts, reports: int) -> Floats:
        """y of the module."""
        shares: Floats = (supports / reports - float(self._joint.q)) / float(self._joint.gap)
        return shares

    def stratum(self, rows: Floats, shares: Floats) -> Stratum:
        """Of (k, nodes) coefficients, where people are as `shares` say."""
        squares = rows * rows
        sums = (rows.sum(axis=1), squares.sum(axis=1))
        means = (rows @ shares, squares @ shares)
        once, permanent = (_Square(law, *sums) for law in (self._joint, self._permanent))
        low, high = self._ends(rows)
        return Stratum(
            mean=means[0],
            square=once.of(*means),
            permanent_square=permanent.of(*means),
            low=low,
            high=high,
            least=once.least_variance(rows.min(axis=1), rows.max(axis=1)),
            pull=(rows.max(axis=1) - rows.min(axis=1)) / float(self._joint.gap),
        )

    def _ends(self, rows: Floats) -> tuple[Floats, Floats]:
        """The least and the most that a set of w nodes says."""
        w, nodes = self._size, rows.shape[1]
        ordered = np.partition(rows, sorted({w - 1, nodes - w}), axis=1)
        offset, gap = float(self._joint.q) * rows.sum(axis=1), float(self._joint.gap)
        low, high = ordered[:, :w].sum(axis=1), ordered[:, nodes - w :].sum(axis=1)
        return (low - offset) / gap, (high - offset) / gap


class _Square:
    """E[s² | x] = slope·g_x + bend·g_x² + constant, s = (Σ_(v in the set) g_v − q·Σ g)/(p − q)."""

    def __init__(self, joint: JointSupports, total: Floats, squares: Floats) -> None:
        p, q, r, t = map(float, (joint.p, joint.q, joint.r, joint.t))
        gap = p - q
        self.slope = 2 * (r - t - q * gap) / gap**2 * total
        self.bend = (gap - 2 * r + 2 * t) / gap**2
        self.constant = ((q - t) * squares + (t - q * q) * total**2) / gap**2

    def of(self, coefficient: Floats, square: Floats) -> Floats:
        """For one value, or the mean over people."""
        moments: Floats = self.slope * coefficient + self.bend * square + self.constant
        return moments

    def least_variance(self, low: Floats, high: Floats) -> Floats:
        """At most the least of E[s² | x] − g_x² for coefficients from `low` to `high`."""
        bend = self.bend - 1
        lowest = np.clip(-self.slope / (2 * bend), low, high) if bend > 0 else low
        ends = [self.of(g, g * g) - g * g for g in (low, high, lowest)]
        return np.asarray(np.maximum(np.min(ends, axis=0), 0.0))
