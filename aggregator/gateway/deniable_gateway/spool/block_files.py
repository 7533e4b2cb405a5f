"""Blocks of sealed reports among the files of a spool, in either format.

The name of a block is random and says how many records it has. The records are shuffled. So a block
reveals neither when nor in which order its reports came.

    <32 hexadecimal digits>-<records>.block     `block_format.encode_block`
    <32 hexadecimal digits>-<records>.parquet   `parquet_format.encode_parquet`
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from deniable_gateway.errors import SpoolError
from deniable_gateway.spool.block_format import SpooledReport, decode_block, encode_block
from deniable_gateway.spool.object_store import require_pyarrow
from deniable_gateway.spool.parquet_format import decode_parquet, encode_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_gateway.spool.protocol import Spool, SpoolFile

FORMATS: Mapping[str, Callable[[Sequence[SpooledReport]], bytes]] = {
    "block": encode_block,
    "parquet": encode_parquet,
}
_DECODERS = {"block": decode_block, "parquet": decode_parquet}
_COUNTED = re.compile(r"[0-9a-f]{32}-([0-9]{1,6})\.(?:block|parquet)")
_random = secrets.SystemRandom()


def write_block(
    spool: Spool, records: Iterable[SpooledReport], *, block_format: str = "block"
) -> str:
    """Write a block of these records, shuffled and durable. Returns its name."""
    shuffled = list(records)
    _random.shuffle(shuffled)
    name = f"{secrets.token_hex(16)}-{len(shuffled)}.{block_format}"
    spool.put(name, FORMATS[block_format](shuffled))
    return name


def blocks(spool: Spool) -> list[SpoolFile]:
    """Return the complete blocks of a spool, by their random names."""
    return [file for file in spool.files() if _format(file.name) in FORMATS]


def read_block(spool: Spool, name: str) -> list[SpooledReport]:
    """Return the records of a block. Raises SpoolError, naming it, if it is damaged."""
    try:
        return _DECODERS[_format(name)](spool.get(name))
    except SpoolError as error:
        raise SpoolError(f"{spool.where}/{name}: {error}") from error


def record_count(spool: Spool, name: str) -> int:
    """Return how many records a block has, by its name; a block without a number is read."""
    match = _COUNTED.fullmatch(name)
    if match is not None:
        return int(match[1])
    try:
        return len(read_block(spool, name))
    except (FileNotFoundError, SpoolError):
        return 0


def require_format(block_format: str) -> str:
    """Return `block_format`. Raises ExtraError if a library for it is missing."""
    if block_format == "parquet":
        require_pyarrow("a block in Parquet")
    return block_format


def _format(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return ending if dot else ""
