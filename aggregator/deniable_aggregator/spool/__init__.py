"""Sealed reports in files, between the ingest that cannot open them and those who can."""

from __future__ import annotations

from deniable_aggregator.spool.block import (
    MAX_RECORDS,
    UNRELAYED,
    Spooled,
    blocks,
    decode_block,
    encode_block,
    read_block,
    write_block,
)

__all__ = [
    "MAX_RECORDS",
    "UNRELAYED",
    "Spooled",
    "blocks",
    "decode_block",
    "encode_block",
    "read_block",
    "write_block",
]
