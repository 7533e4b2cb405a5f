"""The same tally on many processes or machines: blocks of sealed reports in, sums of integers out.

`order` says what a worker needs to know, `partials` is the work itself, `local` and `spark` are
the engines that spread it, `job` commits what comes back.
"""

from __future__ import annotations

from deniable_aggregator.scale.job import Engine, TallySummary, tally_spool

__all__ = ["Engine", "TallySummary", "tally_spool"]
