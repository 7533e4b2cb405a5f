"""The tables of shared/MECHANISMS.md."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from deniable_shared.mechanisms import Mechanism

TEXT = (Path(__file__).parents[3] / "shared" / "MECHANISMS.md").read_text()


def page(id: str) -> str:
    return TEXT.partition(f"\n## `{id}`")[2].partition("\n---\n")[0]


def rows(id: str, columns: int) -> Iterator[list[str]]:
    """Rows of numbers in the tables of a page that have so many columns."""
    for line in page(id).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == columns and re.match(r"\d+\.\d", cells[-1]):
            yield cells


def std_error(mechanism: Mechanism, f: float, n: int) -> float:
    p, q = float(mechanism.p), float(mechanism.q)
    return math.sqrt((f * p * (1 - p) + (1 - f) * q * (1 - q)) / n) / (p - q)
