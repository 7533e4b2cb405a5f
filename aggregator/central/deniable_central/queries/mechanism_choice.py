"""Which mechanism to use: the rows that each needs for one and the same promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_central.queries.mwem_bounds import mwem_rows
from deniable_central.queries.online_plan import online_rows
from deniable_central.queries.small_db_bounds import closed_form_rows, laplace_rows
from deniable_central.selection.privacy_parameters import Epsilon, privacy_parameters

if TYPE_CHECKING:
    from deniable_central.queries.database_sizes import Accuracy


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """Rows for which all queries are promised within α: the fewest win, where they can be run.

    A small database wins where queries are very many, if it can be enumerated at all; MWEM and the
    online session where they are many; noise on every answer where they are few.
    """

    small_db: int
    mwem: int
    online: int
    noise: int


def rows_needed(
    *, domain: int, queries: int, alpha: Accuracy, epsilon: Epsilon, beta: float = 0.05
) -> RowsNeeded:
    """By the theorems, for predicates over so many values under pure ε and replace."""
    exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
    budget = float(exact)
    return RowsNeeded(
        closed_form_rows(domain=domain, queries=queries, alpha=alpha, epsilon=budget, beta=beta),
        mwem_rows(alpha, domain=domain, queries=queries, epsilon=exact, beta=beta),
        online_rows(alpha, domain=domain, queries=queries, epsilon=exact, beta=beta),
        laplace_rows(queries=queries, alpha=alpha, epsilon=budget, beta=beta),
    )
