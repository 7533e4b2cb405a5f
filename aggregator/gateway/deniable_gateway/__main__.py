"""Runs `deniable-gateway` as `python -m deniable_gateway`."""

from __future__ import annotations

import sys

from deniable_gateway.cli import main

if __name__ == "__main__":
    sys.exit(main())
