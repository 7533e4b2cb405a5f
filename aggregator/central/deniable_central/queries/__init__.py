"""Linear queries: many counts of one data set, answered together far better than one by one.

    small_db          a database of a few rows that answers a workload; all of them, or N, scored
    mwem              a synthetic distribution that answers a workload; fast, replace only
    OnlineSession     queries as they come; each may depend on the answers before

`Workload` holds queries, `Counts` the data. `rows_needed` says which mechanism to use.
`sampling_size`, `small_db_error`, `mwem_error` and `plan_online` compute the error in advance.
`SmallDb`, `Mwem` and `OnlinePlan` have their `guarantee`, the cost, before they see data.
"""

from __future__ import annotations

from deniable_central.errors import CountsError, EnumerationError, SessionError
from deniable_central.queries.count_data import CountData, Counts
from deniable_central.queries.database_sizes import (
    least_error,
    sampling_size,
    vc_sampling_size,
)
from deniable_central.queries.mechanism_choice import RowsNeeded, rows_needed
from deniable_central.queries.mwem import Measurement, Mwem, Synthesis, mwem
from deniable_central.queries.mwem_bounds import best_rounds, mwem_error, mwem_rows
from deniable_central.queries.online import Answer, OnlineSession
from deniable_central.queries.online_heuristic import heuristic_plan
from deniable_central.queries.online_plan import (
    OnlinePlan,
    SessionDemand,
    online_rows,
    plan_online,
)
from deniable_central.queries.small_db import SmallDatabase, SmallDb, small_db
from deniable_central.queries.small_db_bounds import (
    SmallDbPlan,
    closed_form_rows,
    laplace_rows,
    plan_small_db,
    small_db_error,
    useful_rows,
)
from deniable_central.queries.workload import Workload, halfspaces, intervals, points, prefixes

__all__ = [
    "Answer",
    "CountData",
    "Counts",
    "CountsError",
    "EnumerationError",
    "Measurement",
    "Mwem",
    "OnlinePlan",
    "OnlineSession",
    "RowsNeeded",
    "SessionDemand",
    "SessionError",
    "SmallDatabase",
    "SmallDb",
    "SmallDbPlan",
    "Synthesis",
    "Workload",
    "best_rounds",
    "closed_form_rows",
    "halfspaces",
    "heuristic_plan",
    "intervals",
    "laplace_rows",
    "least_error",
    "mwem",
    "mwem_error",
    "mwem_rows",
    "online_rows",
    "plan_online",
    "plan_small_db",
    "points",
    "prefixes",
    "rows_needed",
    "sampling_size",
    "small_db",
    "small_db_error",
    "useful_rows",
    "vc_sampling_size",
]
