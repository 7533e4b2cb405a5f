"""Checksums of stored counts and entries: damaged data is refused, never returned as a number.

    body of a tally     Σ w_i·count_i mod 2^62              w_i odd, by the place of the count
    seal of a row       (c + Σ v_j·(column_j mod p)) mod p  p = 2^31 − 1
    checksum of a row   CRC-32 of its columns as JSON       for rows that never change

Body and seal are linear: an addition to a tally adds its own body and seal, so an upload reads
nothing back. For the same reason damage stays visible: the difference between a stored checksum
and the right one is the same after every addition and after the roll-up.

A change of one bit is always detected, because weights are odd and p is prime. The body does not
cover the two highest bits of a count, but no number of reports gives such a count. A change of more
bits is missed with a probability of about 2^-62 in counts and 2^-31 in a row. The databases compute
seals themselves, in queries and views. The formulas are part of the schema and never change.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
import numpy as np

from deniable_aggregator.store.rows import PAGE_SIZE

if TYPE_CHECKING:
    from deniable_aggregator.store.rows import ChargeRow, Counts

BODY_MASK = (1 << 62) - 1
"""Sums of two bodies fit into the 64-bit integers of both databases."""

PRIME = (1 << 31) - 1

_CONSTANT = 1_618_033_988
_FACTORS = (215_896_063, 178_232_521, 251_447_909, 143_118_433, 229_582_513, 199_933_907)
"""Below 2^28: six products with numbers below 2^31 add up to less than 2^63."""

_STEP = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def body(tally: Counts, page: int = 0) -> int:
    """The checksum of a tally, or of the part of it that begins with page `page`."""
    total = 0
    for start in range(0, len(tally), PAGE_SIZE):
        part = tally[start : start + PAGE_SIZE]
        weights = _weights(page + start // PAGE_SIZE)
        total += int(part.dot(weights[: len(part)]))  # numpy computes it mod 2^64
    return total & BODY_MASK


def seal(n: int, *columns: int) -> int:
    """The checksum of a row: `n` first, then the columns that never change."""
    return (_seal_of_none(columns) + seal_increment(n)) % PRIME


def seal_increment(n: int) -> int:
    """The increment of a row's seal for n more reports."""
    return n % PRIME * _FACTORS[0] % PRIME


@lru_cache(maxsize=1_024)  # uploads add to the same few cells repeatedly
def _seal_of_none(columns: tuple[int, ...]) -> int:
    """The seal of a row with n = 0."""
    pairs = zip(columns, _FACTORS[1:], strict=False)
    return (_CONSTANT + sum(value % PRIME * factor for value, factor in pairs)) % PRIME


def seal_check_sql(*columns: str) -> str:
    """SQL for both databases: 1 if the column `seal` matches these columns, else 0.

    A table prefix of the columns ("cells.n") is also used for `seal`.
    """
    pairs = zip(columns, _FACTORS, strict=False)
    terms = " + ".join(f"cast({name} as bigint) % {PRIME} * {factor}" for name, factor in pairs)
    prefix = columns[0].rpartition(".")[0]
    own = f"{prefix}.seal" if prefix else "seal"
    return f"case when {own} = ({_CONSTANT} + {terms}) % {PRIME} then 1 else 0 end"


CELL_IS_SEALED = seal_check_sql(
    "cells.n",
    "cells.collection",
    "cells.epoch",
    "cells.manifest_version",
    "cells.cohort",
    "cells.tally_size",
)
"""SQL: 1 if a row of `cells` matches its seal."""

DELTA_IS_SEALED = seal_check_sql("deltas.n", "deltas.cell")
"""SQL: 1 if a row of `deltas` matches its seal."""


def charge_checksum(row: ChargeRow, runs: str) -> int:
    """The checksum of an entry of the ledger; `runs` are its epochs as stored."""
    exact = (row.epsilon, row.rho, row.delta, row.adjacency, row.created)
    return _crc(row.collection, row.release, row.request, row.terms, runs, *exact)


def record_checksum(release: str, number: int, record: bytes) -> int:
    """The checksum of a session's record."""
    return _crc(release, number, record)


def _crc(*columns: int | str | bytes | None) -> int:
    return crc32(msgspec.json.encode(columns))


@lru_cache(maxsize=64)  # 2 MiB; a larger tally computes its weights again
def _weights(page: int) -> Counts:
    """Odd 64-bit numbers for the counts of a page: SplitMix64 of the index, uint64[PAGE_SIZE]."""
    first = page * PAGE_SIZE + 1
    mixed = np.arange(first, first + PAGE_SIZE, dtype=np.uint64) * np.uint64(_STEP)
    for shift, factor in zip((30, 27), _MIX, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    weights = ((mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)).view(np.int64)
    weights.flags.writeable = False
    return weights
