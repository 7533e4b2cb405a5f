"""Tree: the shares of the nodes of each level, made consistent by weighted least squares.

    y_l = (c_l/n_l − q)/(p − q)        minimise Σ_l λ_l·|S_l x − y_l|² subject to Σ x = 1

S_l sums the values under each node, λ_l = n_l/e_l, and e_l·(I − 1/d)/n_l is the covariance of y_l
for evenly spread people. The shares of a level always add up to 1, so with the root known this is
generalized least squares: the best linear unbiased estimate there (Hay et al. 2010, for equal
variances and whole trees).

The estimate of a functional a follows in two passes over the tree, without a matrix. With the sums
σ and α over its children, a node of weight λ passes on σ/(1 + λσ) and α/(1 + λσ); leaves 1/λ and
a/λ. From the root's m = α/σ down each node has m′ = m + λ(α − mσ)/(1 + λσ), and

    θ̂ = m_root + Σ_nodes (m′ − m)·y + Σ_leaves (a − m)·y

The coefficients on each path to a leaf add up to a, so θ̂ is unbiased for all weights.
Tally: see `one_of_choices`.
Source: docs/mathematics/numbers.md, Trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_estimators.inference.payload_arrays import first_round_as
from deniable_estimators.inference.public_scores import PublicScores, ceilings_of
from deniable_estimators.inference.set_squares import SetSquares
from deniable_estimators.inference.strata import Strata, Stratum
from deniable_estimators.mechanisms.one_of_choices import OneOfChoicesTally, supports_of
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.tree import TreeResponse

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.subset import SubsetResponse


@dataclass(frozen=True, slots=True)
class TreeEstimator(OneOfChoicesTally, HierarchyEstimator):
    """The estimator of "tree/1"."""

    @property
    def _first_round(self) -> TreeResponse:
        return first_round_as(self.mechanism, TreeResponse, TreeResponse.id)

    @property
    def _fan_out(self) -> int:
        return self._first_round.fan_out

    def public_scores(self, rows: Floats) -> PublicScores:
        """See `PublicSums`: the λ are those of L levels with n/L reports each."""
        form, laws = self._first_round, self._laws
        weights = [1 / law.error for law in laws]
        offset, levels = coefficients(rows, form.fan_out, weights)
        reported, moments = np.zeros((len(rows), len(laws))), offset[:, None] * (2 * rows)
        moments -= offset[:, None] ** 2
        low, high, nodes = offset, offset, []
        width, most = rows.shape[1], len(laws)
        for place, (law, own) in enumerate(zip(laws, levels, strict=True)):
            reported[:, place] = law.of_report(own) * most
            nodes.append(law.of_support(own) * most)
            beneath = np.arange(width) // form.fan_out ** (most - 1 - place)
            moments += most * law.squares(own).of_each(own[:, beneath])
            least, largest = law.ends(own)
            low = np.minimum(low, offset + most * least)
            high = np.maximum(high, offset + most * largest)
        every = np.concatenate([reported, *nodes], axis=1)
        return PublicScores(every, offset, low, high, ceilings_of(rows, moments))

    @property
    def _laws(self) -> list[_Level]:
        chain = self.mechanism
        kept = chain.keep_probability if isinstance(chain, MemoizedChain) else Fraction(1)
        return [_Level(choice, kept) for choice in self._first_round.choices]

    def _strata(self, rows: Floats, counts: Counts, n: int) -> Strata:
        form, laws = self._first_round, self._laws
        reports, supports = supports_of(counts, n, form)
        shares = np.where(reports > 0, reports, 1)  # a level without reports is not used
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
    """Return the least squares of functionals [k, D]: constants [k], and [k, nodes] for each level.

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
    """Return each parent's value for all of its children."""
    return np.repeat(offset, fan_out, axis=1)[:, :nodes]


class _Level:
    """The law of one report's sum of coefficients over its set of w of d nodes."""

    def __init__(self, choice: SubsetResponse, kept: Fraction) -> None:
        self._joint = JointSupports.of(choice, kept=kept)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
        self._permanent = JointSupports.of(choice)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
        self._size = choice.subset_size
        d, w = choice.domain_size, choice.subset_size
        self.error = float(w * (d - w) / (d * (d - 1) * self._joint.gap**2))

    def of_report(self, rows: Floats) -> Floats:
        """Return what a report of the level adds to the sums of [k, nodes] coefficients."""
        said: Floats = -float(self._joint.q) / float(self._joint.gap) * rows.sum(axis=1)
        return said

    def of_support(self, rows: Floats) -> Floats:
        """Return what each node in its set adds as well."""
        said: Floats = rows / float(self._joint.gap)
        return said

    def squares(self, rows: Floats) -> SetSquares:
        """Return E[s² | x] of the whole score of such a report."""
        return SetSquares.of(self._joint, rows.sum(axis=1), (rows * rows).sum(axis=1))

    def shares(self, supports: Counts, reports: int) -> Floats:
        """Return y of the module."""
        shares: Floats = (supports / reports - float(self._joint.q)) / float(self._joint.gap)
        return shares

    def stratum(self, rows: Floats, shares: Floats) -> Stratum:
        """Return the evidence for [k, nodes] coefficients, at these shares of people."""
        squares = rows * rows
        sums = (rows.sum(axis=1), squares.sum(axis=1))
        means = (rows @ shares, squares @ shares)
        once, permanent = (SetSquares.of(law, *sums) for law in (self._joint, self._permanent))
        low, high = self.ends(rows)
        return Stratum(
            mean=means[0],
            square=once.at(*means),
            permanent_square=permanent.at(*means),
            low=low,
            high=high,
            least=once.least_variance(rows.min(axis=1), rows.max(axis=1)),
            pull=(rows.max(axis=1) - rows.min(axis=1)) / float(self._joint.gap),
        )

    def ends(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the least and the largest score of a set of w nodes."""
        w, nodes = self._size, rows.shape[1]
        ordered = np.partition(rows, sorted({w - 1, nodes - w}), axis=1)
        offset, gap = float(self._joint.q) * rows.sum(axis=1), float(self._joint.gap)
        low, high = ordered[:, :w].sum(axis=1), ordered[:, nodes - w :].sum(axis=1)
        return (low - offset) / gap, (high - offset) / gap
