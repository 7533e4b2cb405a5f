"""SmallDB: a database of m rows, drawn by the exponential mechanism by the error of its answers.

    score(y) = −max_f |Σ_i f(x_i) − n f(y)|     in rows, not shares: one row moves it by at most
                                                1, replaced, added or removed
    weight   e^(ε · score/2)                    both signs occur, so the ½ is needed: ε-DP

All C(|X| + m − 1, m) multisets of m values are candidates, or N that public coins draw in advance.
Privacy is the same for every N, and accuracy is that of the best among them. A Markov chain that
stops before it has mixed is not private, so none is used.

Blum, Ligett, Roth 2008; accuracy in `small_db_bounds`.
Source: docs/mathematics/queries.md, The small database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_central.errors import AdjacencyError, CountsError, EnumerationError
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.pmf import Pmf
from deniable_central.queries.count_data import CountData, Counts
from deniable_central.queries.database_sizes import Accuracy, sampling_size
from deniable_central.queries.multisets import (
    AllMultisets,
    Candidates,
    DrawnMultisets,
    multisets,
)
from deniable_central.queries.small_db_bounds import selection_error, small_db_error
from deniable_central.release import ErrorBar, Release
from deniable_central.selection import PrivacyParameters, privacy_parameters
from deniable_central.selection.exponential import Exponential
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from deniable_central.queries.workload import Floats, Integers, Workload
    from deniable_central.selection.privacy_parameters import Epsilon

MOST_CANDIDATES = 1 << 24
_MOST_DRAWN_ROWS = 1 << 27
_PRINTABLE = 10**15
_LARGEST_ANSWER = 1 << 20  # times 2^31 rows is still exact in a float
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class SmallDatabase:
    """The released rows, ascending, each a value of the domain. Queries to them cost nothing."""

    rows: tuple[int, ...]
    domain: int

    @property
    def weights(self) -> Floats:
        """float64[domain]: the share of each value.

        `workload.values(database.weights)` answers queries.
        """
        shares: Floats = np.bincount(self.rows, minlength=self.domain) / len(self.rows)
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class SmallDb:
    """The mechanism without data: `guarantee` is its cost. Built by `of`."""

    law: ClassVar[str] = "small database, exponential mechanism"
    workload: Workload
    size: int
    candidates: Candidates
    privacy: PrivacyParameters

    @classmethod
    def of(  # noqa: PLR0913  (published: notebooks call it)
        cls,
        workload: Workload,
        *,
        epsilon: Epsilon,
        alpha: Accuracy | None = None,
        size: int | None = None,
        candidates: int | None = None,
        adjacency: str = "replace",
        coins: Coins | None = None,
    ) -> SmallDb:
        """Return the mechanism with `size` rows, or as many as answer to within `alpha`.

        Exactly one of the two must be given. candidates: how many public coins draw, in place of
        all multisets. Raises EnumerationError, with an alternative, if there are too many
        candidates.
        """
        rows = _size(workload, alpha, size)
        unit = privacy_parameters(epsilon=epsilon, sensitivity=rows, adjacency=adjacency)
        if candidates is None:
            _enumerable(workload.domain, rows)
            return cls(workload, rows, AllMultisets(workload.domain, rows), unit)
        _drawable(candidates, rows)
        drawn = DrawnMultisets.draw(workload.domain, rows, candidates, coins or Coins.system())
        return cls(workload, rows, drawn, unit)

    @property
    def guarantee(self) -> Guarantee:
        return self._mechanism(1).guarantee

    def scores(self, data: CountData) -> Integers:
        """−max_f |m · observed − n · gain · answer|, in units of m · scale: not for release."""
        self._check(data)
        observed = self.size * data.observe(self.workload.matrix).astype(np.float64)
        share = float(data.gain * data.rows)

        def score_of(answers: Floats) -> Floats:
            answers *= share
            np.rint(
                answers, out=answers
            )  # public and rounded first: the score moves like `observed`
            answers -= observed
            np.abs(answers, out=answers)
            worst: Floats = answers.max(axis=-1)
            return -worst

        return self.candidates.scores(self.workload, score_of)

    def release(self, data: CountData, coins: Coins | None = None) -> Release[SmallDatabase]:
        """Return one of the candidates, and a bound on the error of its answers."""
        place = self._of(data).release(self.scores(data), coins).result
        database = SmallDatabase(self.candidates.rows(place), self.workload.domain)
        return Release(database, self.law, self.guarantee, (self._bar(data),))

    def pmf(self, data: CountData) -> Pmf[tuple[int, ...]]:
        """The certified probability of each candidate: a function of the data, not for release."""
        law = self._of(data).pmf(self.scores(data))
        return Pmf(tuple(map(self.candidates.rows, law.outcomes)), law.lower, law.upper)

    def _of(self, data: CountData) -> Exponential:
        return self._mechanism(max(1, data.sensitivity(self.workload.matrix)))

    def _mechanism(self, moves: int) -> Exponential:
        """The mechanism if one row moves a raw answer by `moves`, so a score by m times that."""
        privacy = privacy_parameters(
            epsilon=self.privacy.epsilon,
            sensitivity=self.size * moves,
            adjacency=self.privacy.adjacency.value,
        )
        return Exponential.of(privacy)

    def _check(self, data: CountData) -> None:
        if data.domain != self.workload.domain:
            raise CountsError(
                f"counts must be over the queries' {self.workload.domain} values, got {data.domain}"
            )
        if self.privacy.adjacency is Adjacency.ADD_REMOVE:
            if not isinstance(data, Counts):
                raise AdjacencyError('the n of these counts is public: use adjacency "replace"')
        elif not data.rows:
            raise CountsError("counts must hold at least 1 row, got 0")

    def _bar(self, data: CountData) -> ErrorBar:
        """The error bar; n is not public under add/remove, and the lemma needs all multisets."""
        workload, privacy = self.workload, self.privacy
        unit = float(data.gain * workload.scale)
        moves = max(1, data.sensitivity(workload.matrix)) / unit
        selection = selection_error(
            candidates=len(self.candidates),
            epsilon=float(privacy.epsilon),
            beta=1 - CONFIDENCE,
            moves=moves,
        )
        enumerated = isinstance(self.candidates, AllMultisets)
        if privacy.adjacency is Adjacency.ADD_REMOVE or not enumerated or data.gain != 1:
            quantity = "largest error of a query, in rows, above the best candidate's"
            return ErrorBar(quantity, 0.0, selection, CONFIDENCE)
        error = small_db_error(
            rows=data.rows,
            domain=workload.domain,
            queries=workload.queries,
            size=self.size,
            epsilon=float(privacy.epsilon),
            beta=1 - CONFIDENCE,
            moves=moves,
        )
        return ErrorBar("largest error of a query, as a share", 0.0, error, CONFIDENCE)


def small_db(  # noqa: PLR0913  (published: notebooks call it)
    data: CountData,
    workload: Workload,
    *,
    epsilon: Epsilon,
    alpha: Accuracy | None = None,
    size: int | None = None,
    candidates: int | None = None,
    adjacency: str = "replace",
) -> Release[SmallDatabase]:
    """Release a small database that answers the workload, ε-DP; arguments as in `SmallDb.of`."""
    mechanism = SmallDb.of(
        workload,
        epsilon=epsilon,
        alpha=alpha,
        size=size,
        candidates=candidates,
        adjacency=adjacency,
    )
    return mechanism.release(data)


def _size(workload: Workload, alpha: Accuracy | None, size: int | None) -> int:
    if (alpha is None) == (size is None):
        raise ParameterError(
            "exactly one of alpha (how far off the best small database may be) and size (its rows) "
            f"must be given, got {'neither' if size is None else 'both'}"
        )
    rows = size if alpha is None else sampling_size(workload.queries, alpha)
    if rows is None or not 1 <= rows * workload.scale <= _LARGEST_ANSWER:
        raise ParameterError(
            f"size times the scale of the queries must lie in [1, {_LARGEST_ANSWER:,}], got {rows} "
            f"times {workload.scale}"
        )
    return rows


def _enumerable(domain: int, size: int) -> None:
    count = multisets(domain, size)
    if count > MOST_CANDIDATES:
        printed_count = f"{count:,}" if count < _PRINTABLE else f"e^{math.log(count):.0f}"
        raise EnumerationError(
            f"{size} rows over {domain} values make {printed_count} candidates, at most "
            f"{MOST_CANDIDATES:,} are gone through: allow a larger alpha, or let public coins draw "
            "some with candidates=100_000, which is as private, or use mwem"
        )


def _drawable(candidates: int, size: int) -> None:
    most = min(MOST_CANDIDATES, _MOST_DRAWN_ROWS // size)
    if not 1 <= candidates <= most:
        raise EnumerationError(
            f"candidates must lie in [1, {most:,}] for {size} rows each, got {candidates:,}"
        )
