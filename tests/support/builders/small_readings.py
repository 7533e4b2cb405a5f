"""A small mechanism of each kind whose reports have no labels: numbers, records and texts."""

from __future__ import annotations

from math import prod

from deniable_shared import mechanisms
from deniable_shared.mechanisms.protocols import Mechanism
from support.builders.small_mechanisms import chain, mechanism


def of_record(id: str, *radices: int, report: str = "1", permanent: str | None = None) -> Mechanism:
    size = prod(radices)
    return mechanisms.build(
        id, domain_size=size, radices=radices, epsilon=report, permanent=permanent
    )


MEANS = {
    "duchi-3": mechanism("duchi/1", 3),
    "duchi-4-chain": chain("duchi/1", 4),
    "optimal-3": mechanism("optimal-mean/1", 3, "4"),
    "optimal-5-chain": chain("optimal-mean/1", 5),
    "piecewise-4": mechanism("discrete-piecewise/1", 4, outputs=5, window=1),
}
RANGES = {
    "wave-4": mechanism("square-wave/1", 4),
    "wave-5-chain": chain("square-wave/1", 5),
    "tree-5": mechanism("tree/1", 5),
    "tree-4-chain": chain("tree/1", 4),
    "haar-4": mechanism("haar/1", 4),
    "haar-3-chain": chain("haar/1", 3),
}
TABLES = {
    "pairs-2-3": of_record("pairs/1", 2, 3),
    "pairs-2-2-3": of_record("pairs/1", 2, 2, 3),
    "pairs-2-2-3-chain": of_record("pairs/1", 2, 2, 3, permanent="2"),
    "fourier-2-2": of_record("fourier/1", 2, 2),
    "fourier-2-2-2-chain": of_record("fourier/1", 2, 2, 2, permanent="2"),
}
TEXTS = {
    "cms-1": mechanism("cms/1", 1, tables=2, cells=8),
    "hcms-1": mechanism("hcms/1", 1, tables=3, cells=8),
    "prefix-1": mechanism("prefix-hash/1", 1, base=3, digits=2, tables=1, step=0),
    "prefix-1-search": mechanism("prefix-hash/1", 1, base=3, digits=2, tables=1, step=1),
    "rappor-1": mechanism("rappor/1", 1, tables=1, cells=8, hashes=2),
}
NUMBERS = {**MEANS, **RANGES}
READINGS = {**NUMBERS, **TABLES, **TEXTS}
