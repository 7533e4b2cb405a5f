"""Blocks as Parquet: one column for each public field, and `sealed` for the rest.

    collection, report_id, epoch, manifest_version, key_id, extensions, sealed

The file's metadata has the checksum of the same records in the plain format. So a damaged file is
refused even if Parquet has no checksums of its own. Needs pyarrow, which is loaded with the first
block.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

from deniable_gateway.errors import SpoolError
from deniable_gateway.spool.block_format import MAX_RECORDS, SpooledReport, encode_block
from deniable_gateway.spool.object_store import require_pyarrow
from deniable_shared.errors import DecodeError
from deniable_shared.wire.report import split_upload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

CHECKSUM = b"deniable.sha256"
ROWS = 1_024
"""Rows decoded at a time."""

_CHECKSUM_BYTES = 32
_TERMS = struct.Struct(">IHBH")
_LENGTH = struct.Struct(">H")
_GROWTH = 8
"""Most bytes in memory for each byte of a file: sealed data cannot be compressed."""

Row = tuple[str, bytes, int, int, int, bytes, bytes]


def encode_parquet(records: Sequence[SpooledReport]) -> bytes:
    """Return the bytes of a Parquet file. Raises SpoolError unless each record is one report."""
    require_pyarrow("a block in Parquet")
    import pyarrow as pa
    from pyarrow import parquet

    checksum = encode_block(records)[-_CHECKSUM_BYTES:]
    schema = _schema().with_metadata({CHECKSUM: checksum.hex().encode()})
    columns = zip(*map(_row, records), strict=True)
    arrays = [pa.array(values, each.type) for values, each in zip(columns, schema, strict=True)]
    sink = pa.BufferOutputStream()
    repeated = ["collection", "epoch", "manifest_version", "key_id"]
    table = pa.Table.from_arrays(arrays, schema=schema)
    parquet.write_table(
        table, sink, compression="none", use_dictionary=repeated, write_statistics=False
    )
    return bytes(sink.getvalue())


def decode_parquet(data: bytes) -> list[SpooledReport]:
    """Return the records: the inverse of `encode_parquet`.

    Raises SpoolError for any other bytes.
    """
    require_pyarrow("a block in Parquet")
    import pyarrow as pa

    try:
        checksum, records = _read(data)
    except (pa.ArrowException, OSError, ValueError, struct.error, OverflowError) as error:
        raise SpoolError(f"not a block of a spool in Parquet: {error}") from error
    if encode_block(records)[-_CHECKSUM_BYTES:].hex().encode() != checksum:
        raise SpoolError("not a whole block of a spool: its checksum is wrong")
    return records


def _read(data: bytes) -> tuple[bytes, list[SpooledReport]]:
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(data))
    if not file.schema_arrow.equals(_schema()):
        raise SpoolError("its columns are not those of a spool")
    if not 1 <= file.metadata.num_rows <= MAX_RECORDS:
        raise SpoolError(f"a block must hold 1…{MAX_RECORDS} records")
    records = [_record(row) for batch in _batches(file, len(data)) for row in _rows(batch)]
    return (file.schema_arrow.metadata or {}).get(CHECKSUM, b""), records


def _batches(file: Any, size: int) -> Iterator[pa.RecordBatch]:
    total = 0
    for batch in file.iter_batches(ROWS):
        total += batch.nbytes
        if total > _GROWTH * size:
            raise SpoolError(f"its columns are more than {_GROWTH} times as large as the file")
        yield batch


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {
        "collection": pa.string(),
        "report_id": pa.binary(16),
        "epoch": pa.uint32(),
        "manifest_version": pa.uint16(),
        "key_id": pa.uint8(),
        "extensions": pa.binary(),
        "sealed": pa.binary(),
    }
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


def _row(record: SpooledReport) -> Row:
    try:
        [frame] = split_upload(record.report)
    except (DecodeError, ValueError) as error:
        raise SpoolError(f"a record of a Parquet block must be one report: {error}") from error
    epoch, version, key_id, _ = _TERMS.unpack_from(frame.header_rest)
    extensions = frame.header_rest[_TERMS.size :]
    return record.collection, frame.report_id, epoch, version, key_id, extensions, frame.sealed


def _record(row: Row) -> SpooledReport:
    collection, report_id, epoch, version, key_id, extensions, sealed = row
    terms = _TERMS.pack(epoch, version, key_id, len(extensions)) + extensions
    return SpooledReport(collection, report_id + terms + _LENGTH.pack(len(sealed)) + sealed)
