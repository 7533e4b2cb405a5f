"""Error bounds of a released database, and how many rows they need: for planning.

Every statement holds for **every** data set, with probability 1 − β over the mechanism's coins, for
all queries at once. α ≤ 1, as shares differ by at most 1. With R(m) = C(|X| + m − 1, m):

    SmallDB     error ≤ √(ln(2|Q|)/(2m)) + (2/(εn))(ln R(m) + ln(1/β))
    in closed form, half of α each:    n ≥ (8 ln|X| ln(2|Q|)/α³ + 4 ln(1/β)/α)/ε
    of any class, by the m it needs at α/2, over {0, 1}^k:    n ≥ (4/(εα))(mk ln 2 + ln(1/β))
    noise on every answer:             n ≥ |Q| ln(|Q|/β)/(εα)

`moves` is how far one row may move a count, in rows; 1 for predicates of true rows.
Blum, Ligett, Roth 2008; for MWEM and the online session see `mwem_bounds` and `online_plan`.

Source: docs/mathematics/queries.md, The small database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_central.queries.database_sizes import (
    Accuracy,
    least_error,
    read_accuracy,
    sampling_size,
)
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_UP = 1 + 1e-12
_MOST_ROWS = 1 << 40


@dataclass(frozen=True, slots=True)
class SmallDbPlan:
    """The fewest rows of data for an α, the database's size, and ln of its candidates."""

    rows: int
    size: int
    log_candidates: float


def log_multisets(domain: int, size: int) -> float:
    """Return ln C(domain + size − 1, size)."""
    return math.lgamma(domain + size) - math.lgamma(size + 1) - math.lgamma(domain)


def selection_error(*, candidates: float, epsilon: float, beta: float, moves: float = 1) -> float:
    """Return how much larger the worst error is than the best candidate's, in rows."""
    return _selection(math.log(candidates), epsilon, beta) * moves


def _selection(log_candidates: float, epsilon: float, beta: float) -> float:
    _check(epsilon, beta)
    return 2 * (log_candidates + math.log(1 / beta)) / epsilon * _UP


def small_db_error(  # noqa: PLR0913  (published: notebooks call it)
    *,
    rows: int,
    domain: int,
    queries: int,
    size: int,
    epsilon: float,
    beta: float,
    moves: float = 1,
) -> float:
    """Return the worst error of any query, as a share of the rows, at most 1."""
    selection = _selection(log_multisets(domain, size), epsilon, beta) * moves
    return min(1.0, least_error(queries, size) + selection / rows)


def plan_small_db(
    *, domain: int, queries: int, alpha: Accuracy, epsilon: float, beta: float
) -> SmallDbPlan:
    """Return the fewest rows for an error of α, over all sizes m of the small database.

    They are below the closed form, and far below for few values, where ln R(m) ≈ |X| ln(m/|X|) lets
    m grow. Enumeration cannot reach such m: require log_candidates ≤ ln(10^7) for what you want to
    run.
    """
    target = float(read_accuracy(alpha))
    size = sampling_size(queries, alpha)
    best: SmallDbPlan | None = None
    while best is None or size < 4 * best.size:
        slack, candidates = target - least_error(queries, size), log_multisets(domain, size)
        if slack > 0:
            needed = math.ceil(_selection(candidates, epsilon, beta) / slack)
            if best is None or needed < best.rows:
                best = SmallDbPlan(needed, size, candidates)
        size += max(1, size // 64)
    return best


def closed_form_rows(
    *, domain: int, queries: int, alpha: Accuracy, epsilon: float, beta: float
) -> int:
    """The rows by theorem 4.5 of the notes with the right m: SmallDB run with α/2 is within α."""
    _check(epsilon, beta)
    target = float(read_accuracy(alpha))
    cubic = 8 * math.log(domain) * math.log(2 * queries) / target**3
    return math.ceil((cubic + 4 * math.log(1 / beta) / target) / epsilon * _UP)


def useful_rows(*, bits: int, size: int, alpha: Accuracy, epsilon: float, delta: float) -> int:
    """The rows that make SmallDB over {0, 1}^bits (α, δ)-useful: for all D and h, w.p. 1 − δ.

    size: m for α/2, by `sampling_size` of the distinct predicates or by `vc_sampling_size`.
    """
    _check(epsilon, delta)
    candidates = size * bits * math.log(2) + math.log(1 / delta)
    return math.ceil(4 * candidates / (epsilon * float(read_accuracy(alpha))) * _UP)


def laplace_rows(*, queries: int, alpha: Accuracy, epsilon: float, beta: float) -> int:
    """Return the rows for an error of α if every answer has its own noise and ε/|Q|."""
    _check(epsilon, beta)
    per_row = queries * math.log(queries / beta) / epsilon
    return math.ceil(per_row / float(read_accuracy(alpha)) * _UP)


def fewest(enough: Callable[[int], bool]) -> int:
    """Return the fewest rows that are enough, within 0.1%. Raises ParameterError if none are."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_ROWS:
            raise ParameterError(f"no rows up to {_MOST_ROWS:,} are enough: allow a larger alpha")
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check(epsilon: float, beta: float) -> None:
    if not epsilon > 0:
        raise ParameterError(f"epsilon must be positive, got {epsilon}")
    if not 0 < beta < 1:
        raise ParameterError(f"a failure probability must lie in (0, 1), got {beta}")
