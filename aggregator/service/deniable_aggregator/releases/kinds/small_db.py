"""`small-db`: a small synthetic database that answers many questions at once.

Its m rows are as many as answer any data set to within `alpha` (the sampling lemma), and it is
drawn by the exponential mechanism among all multisets of m labels, or among some that public coins
drew: these are keyed by the request, so anyone can draw them again, and they do not depend on any
report. ε-DP either way, for any number of candidates.

    E(y) = max_f |f(truth) − f(y)|, e(y) the same of the debiased counts: |e − E| ≤ τ for all y
    E(ŷ) ≤ e(ŷ) + τ ≤ min_y e(y) + s + τ ≤ min_y E(y) + s + 2τ

s is what the selection falls short by, min_y E(y) ≤ √(ln(2|Q|)/(2m)) for all multisets. The lemma
speaks of the truth and not of debiased counts, which are no data set, so τ enters twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    read_share,
    read_whole,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.kinds.joint_readings import JointReading, joint_reading_of
from deniable_aggregator.releases.kinds.label_workloads import (
    WORKLOAD,
    LabelWorkload,
    read_workload,
)
from deniable_aggregator.releases.kinds.query_answers import (
    HALF,
    QueryErrorBound,
    answer_rows,
    distribution_rows,
)
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.queries import EnumerationError, SmallDb, sampling_size
from deniable_central.queries.database_sizes import least_error
from deniable_central.queries.multisets import multisets
from deniable_central.queries.small_db import MOST_CANDIDATES
from deniable_central.queries.small_db_bounds import selection_error
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_central.pmf import Pmf
    from deniable_central.release import ErrorBar

PARAMETERS = (
    WORKLOAD,
    Parameter("alpha", 'the error of the best database, a share in (0, 1], like "0.2"'),
    Parameter("candidates", f"how many to draw, up to {MOST_CANDIDATES:,}, or all", "all"),
    EPSILON,
)
_LABEL = b"deniable small-db candidates"
_MOST_ANSWERS = 1 << 31  # candidates times queries: some ten seconds
_MOST_DRAWN_ROWS = 1 << 23  # candidates times rows: 64 MB
_MOST_ROWS = 4096
_MOST_HALVES = 1 << 24  # entries of the halves that all multisets are put together from
_PRINTABLE = 10**15
_SOME = 100_000
_PART = 1 << 15  # of a label of keyed coins


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSmallDb:
    """A valid request for a small database: see `PreparedRelease`. `candidates` None: all."""

    mechanism: ClassVar[str] = "small-db"
    version: ClassVar[int] = 1

    context: ReleaseContext
    reading: JointReading
    label_sets: LabelWorkload
    alpha: Fraction
    epsilon: Fraction
    candidates: int | None
    moves: int

    @property
    def parameters(self) -> Mapping[str, object]:
        return {
            "workload": self.label_sets.argument,
            "alpha": decimal_text(self.alpha),
            "candidates": "all" if self.candidates is None else self.candidates,
            "epsilon": decimal_text(self.epsilon),
        }

    @property
    def law(self) -> str:
        return SmallDb.law

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.bounded_range(self.epsilon, Adjacency.REPLACE)

    @property
    def size(self) -> int:
        """m, the rows of the database."""
        return sampling_size(self.label_sets.workload.queries, self.alpha)

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        return self.error.bars

    @property
    def error(self) -> QueryErrorBound:
        """The bound for all candidates by the lemma; for drawn ones, above the best of them."""
        queries, gain = self.label_sets.workload.queries, float(self.reading.gain)
        count = multisets(self.context.domain.size, self.size)
        selection = selection_error(
            candidates=self.candidates or count,
            epsilon=float(self.epsilon),
            beta=HALF,
            moves=self.moves / gain,
        )
        rounding = 1 / (self.size * gain)  # of two predictions, by half a level each
        central = (selection + rounding) / self.context.n
        if self.candidates is None:
            central += least_error(queries, self.size)
        matrix = self.label_sets.workload.matrix
        total = central + 2 * self.reading.local_error(matrix, beta=HALF)
        quantity = "largest error of a query, as a share"
        if self.candidates is not None:
            quantity += ", above the best candidate's"
        return QueryErrorBound(min(1.0, central), min(1.0, total), quantity)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        data = self.reading.counts(tallies)
        database = self.linear().release(data, coins).result
        rows = np.bincount(database.rows, minlength=database.domain).tolist()
        labels = self.context.domain.labels
        held = [{"label": v, "rows": k} for v, k in zip(labels, rows, strict=True) if k]
        bound = self.error if self.candidates is None else None
        result = {
            "size": self.size,
            "rows": held,
            "distribution": distribution_rows(labels, database.weights),
            "answers": answer_rows(self.label_sets, database.weights, bound),
        }
        return ReleaseResult(result, self.error.bars)

    def pmf(self, tallies: Tallies) -> Pmf[tuple[int, ...]]:
        """The certified distribution of the rows by candidate: never publish it."""
        return self.linear().pmf(self.reading.counts(tallies))

    def linear(self) -> SmallDb:
        """The mechanism; its candidates are drawn if the request names a number."""
        return SmallDb.of(
            self.label_sets.workload,
            epsilon=self.epsilon,
            alpha=self.alpha,
            candidates=self.candidates,
            coins=self._public_coins(),
        )

    def _public_coins(self) -> Coins:
        request = {"epochs": self.context.epochs, **self.parameters}
        terms = json.dumps(request, sort_keys=True, ensure_ascii=True).encode()
        key = self.context.collection.encode()
        parts = [terms[start : start + _PART] for start in range(0, len(terms), _PART)]
        return Coins.derive(key, _LABEL, *parts)


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSmallDb:
    """The prepared release. Raises ParameterError, or EnumerationError for too many candidates."""
    complete = with_defaults("small-db", PARAMETERS, arguments)
    reading = joint_reading_of("small-db", context, rows=_MOST_ROWS)
    epsilon = read_epsilon(complete["epsilon"])
    alpha = read_share("alpha", complete["alpha"], whole=True)
    label_sets = read_workload(complete["workload"], context.domain)
    queries = label_sets.workload.queries
    size = _size(queries, alpha)
    candidates = None
    if complete["candidates"] == "all":
        _check_enumerable(context.domain.size, size, queries)
    else:
        most = _most_drawn(size, queries)
        candidates = read_whole("candidates", complete["candidates"], low=1, high=most)
    moves = max(1, reading.moves(label_sets.workload.matrix))
    return PreparedSmallDb(context, reading, label_sets, alpha, epsilon, candidates, moves)


def _size(queries: int, alpha: Fraction) -> int:
    size = sampling_size(queries, alpha)
    if size > _MOST_ROWS:
        raise EnumerationError(
            f"small-db has at most {_MOST_ROWS:,} rows, but this alpha needs {size:,}: use larger "
            "alpha, or use mwem"
        )
    return size


def _check_enumerable(labels: int, size: int, queries: int) -> None:
    count, most = multisets(labels, size), min(MOST_CANDIDATES, _MOST_ANSWERS // queries)
    if count > most or _halves(labels, size) > _MOST_HALVES:
        printed_count = f"{count:,}" if count < _PRINTABLE else "far too many"
        some = min(_SOME, _most_drawn(size, queries))
        raise EnumerationError(
            f"small-db of {size:,} rows over {labels:,} labels has {printed_count} candidates, "
            "too many to enumerate: allow a larger alpha, let public coins draw some with "
            f"candidates = {some}, which is as private, or use mwem, which enumerates none"
        )


def _halves(labels: int, size: int) -> int:
    """The number of entries that `multisets.AllMultisets` stores."""
    middle = labels // 2
    return sum(
        k * (multisets(part, k) if part else 0)
        for part in (middle, labels - middle)
        for k in range(size + 1)
    )


def _most_drawn(size: int, queries: int) -> int:
    return min(MOST_CANDIDATES, _MOST_ANSWERS // queries, _MOST_DRAWN_ROWS // size)
