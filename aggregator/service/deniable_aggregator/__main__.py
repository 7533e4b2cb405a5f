"""`python -m deniable_aggregator` is the `deniable` command."""

from __future__ import annotations

from deniable_aggregator.cli import main

if __name__ == "__main__":
    main(prog_name="deniable")
