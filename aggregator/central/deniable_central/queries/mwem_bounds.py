"""Error bounds of MWEM after T rounds.

Let r_t = f_t(D) − f_t(w_t) and ν_t the noise. By Hoeffding's lemma RE(D‖w) falls by at least 2r_t²
− 2ν_t² in step t, and it starts at most at ln|X|. A hypothetical step T+1 bounds w_T, too. So with
probability 1 − β, in shares, with s the shortfall of a selection and ν that of a measurement,

    error ≤ √(ln|X|/(2(T + 1)) + ν²) + s      s = (4T/(εn)) ln(2T|Q|/β), ν ≈ (2T/(εn)) ln(2T/β)

At β = 2T/|Q| that is below the 2√(ln|X|/T) + 10T ln|Q|/(nε) of Hardt, Ligett, McSherry 2012, whose
step is an eighth of this one.
Source: docs/mathematics/queries.md, Multiplicative weights.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable_central.queries.database_sizes import Accuracy, read_accuracy
from deniable_central.queries.small_db_bounds import fewest, selection_error
from deniable_central.samplers.noise import tail_quantile

MOST_ROUNDS = 1000
_LADDER = tuple(dict.fromkeys(round(1.05**power) for power in range(142)))


def mwem_error(  # noqa: PLR0913  (published: notebooks call it)
    *,
    rows: int,
    domain: int,
    queries: int,
    rounds: int,
    epsilon: Fraction,
    beta: float,
    moves: int = 1,
    unit: Fraction = Fraction(1),
    local_error: float = 0.0,
) -> float:
    """The worst error of any query, as a share of the rows, with probability 1 − β; at most 1.

    moves: how far one row moves a raw answer; `unit` raw units are one row. local_error: the error
    of the raw answers themselves; it is added to ν, and twice to s.
    """
    share, tries = epsilon / (2 * rounds), 2 * rounds / beta
    whole = float(rows * unit)
    noise = tail_quantile(share / moves, 1 / tries) / whole + local_error
    shortfall = selection_error(
        candidates=queries, epsilon=float(share), beta=1 / tries, moves=moves
    )
    rounded = 1  # rounding of predicted counts: half a unit each for two queries
    selection = (shortfall + rounded) / whole + 2 * local_error
    return min(1.0, math.sqrt(math.log(domain) / (2 * (rounds + 1)) + noise**2) + selection)


def best_rounds(  # noqa: PLR0913  (published: notebooks call it)
    *,
    rows: int,
    domain: int,
    queries: int,
    epsilon: Fraction,
    beta: float,
    moves: int = 1,
    unit: Fraction = Fraction(1),
    local_error: float = 0.0,
) -> int:
    """Return the T of the least bound, within 5%."""

    def error(rounds: int) -> float:
        return mwem_error(
            rows=rows,
            domain=domain,
            queries=queries,
            rounds=rounds,
            epsilon=epsilon,
            beta=beta,
            moves=moves,
            unit=unit,
            local_error=local_error,
        )

    return min(_LADDER, key=error)


def mwem_rows(alpha: Accuracy, *, domain: int, queries: int, epsilon: Fraction, beta: float) -> int:
    """Return the fewest rows, within 0.1%, for which `queries` predicates are answered within α.

    Raises ParameterError if MOST_ROUNDS rounds are not enough for any number of rows.
    """
    target = float(read_accuracy(alpha))

    def enough(rows: int) -> bool:
        rounds = best_rounds(rows=rows, domain=domain, queries=queries, epsilon=epsilon, beta=beta)
        error = mwem_error(
            rows=rows, domain=domain, queries=queries, rounds=rounds, epsilon=epsilon, beta=beta
        )
        return error <= target

    return fewest(enough)
