"""Sealed reports between the keyless intake and the processes that have the keys.

A `protocol.Spool` holds files, `address` opens it, `block_files` reads and writes blocks of
reports.
"""

from __future__ import annotations

from deniable_gateway.spool.address import open_spool
from deniable_gateway.spool.block_files import blocks, read_block, write_block
from deniable_gateway.spool.block_format import (
    MAX_RECORDS,
    SpooledReport,
    decode_block,
    encode_block,
)
from deniable_gateway.spool.protocol import Spool

__all__ = [
    "MAX_RECORDS",
    "Spool",
    "SpooledReport",
    "blocks",
    "decode_block",
    "encode_block",
    "open_spool",
    "read_block",
    "write_block",
]
