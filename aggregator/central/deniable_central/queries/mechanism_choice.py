"""Which mechanism to use: the rows that each needs for the same accuracy."""

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
    """The rows for which all queries are within α.

    The mechanism with the fewest is best if it runs.

    A small database is best for very many queries, if it can be enumerated. MWEM and the online
    session are best for many queries, and noise on every answer for few.
    """

    small_db: int
    mwem: int
    online: int
    noise: int


def rows_needed(
    *, domain: int, queries: int, alpha: Accuracy, epsilon: Epsilon, beta: float = 0.05
) -> RowsNeeded:
    """Return the rows by the theorems, for predicates over `domain` values, pure ε and replace."""
    exact = privacy_parameters(epsilon=epsilon, sensitivity=1).epsilon
    budget = float(exact)
    return RowsNeeded(
        closed_form_rows(domain=domain, queries=queries, alpha=alpha, epsilon=budget, beta=beta),
        mwem_rows(alpha, domain=domain, queries=queries, epsilon=exact, beta=beta),
        online_rows(alpha, domain=domain, queries=queries, epsilon=exact, beta=beta),
        laplace_rows(queries=queries, alpha=alpha, epsilon=budget, beta=beta),
    )
