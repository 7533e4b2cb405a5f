"""The plain format of a block: records one after the other, and a checksum.

    struct { opaque collection<1..64>; opaque report<1..2^17>; } Record;   /* `Report.encode()` */
    struct { opaque magic[17]; uint32 count; Record records[count]; opaque sha256[32]; } Block;

Lengths are a uint8 and a uint32; the checksum is over all that precedes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from deniable_aggregator.errors import SpoolError
from deniable_shared.codec import Reader, opaque
from deniable_shared.errors import DecodeError

__all__ = [
    "MAX_RECORDS",
    "UNRELAYED",
    "Spooled",
    "decode_block",
    "encode_block",
]

MAGIC = b"deniable spool/1\n"
MAX_RECORDS = 100_000
"""Most records of one block."""

UNRELAYED = (
    "relay_batch must be 0 where a spool is tallied: a block does not say whether its reports came "
    "through a relay. `deniable open` counts them, and tells the door to take no others"
)
"""Why nothing can be promised of a relay's batches where anybody may have written the blocks."""

_CHECKSUM_BYTES = 32
_MAX_COLLECTION = 64
_MAX_REPORT = 1 << 17


@dataclass(frozen=True, slots=True)
class Spooled:
    """One report as it came, sealed and encoded, and the id of the collection it is for."""

    collection: str
    report: bytes

    def __post_init__(self) -> None:
        for name, length, most in (
            ("collection", len(self.collection.encode()), _MAX_COLLECTION),
            ("report", len(self.report), _MAX_REPORT),
        ):
            if not 1 <= length <= most:
                raise SpoolError(f"{name} must be 1…{most} bytes long, got {length}")

    def encode(self) -> bytes:
        """One record."""
        name = opaque(self.collection.encode(), 1, 1, _MAX_COLLECTION)
        return name + opaque(self.report, 4, 1, _MAX_REPORT)


def encode_block(records: Sequence[Spooled]) -> bytes:
    """The bytes of a block, in the order given; SpoolError unless 1…MAX_RECORDS records."""
    if not 1 <= len(records) <= MAX_RECORDS:
        raise SpoolError(f"a block must hold 1…{MAX_RECORDS} records, got {len(records)}")
    body = b"".join([MAGIC, len(records).to_bytes(4, "big"), *map(Spooled.encode, records)])
    return body + sha256(body).digest()


def decode_block(data: bytes) -> list[Spooled]:
    """The inverse of `encode_block`; SpoolError for any other bytes."""
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if not body.startswith(MAGIC) or sha256(body).digest() != checksum:
        raise SpoolError("not a whole block of a spool: its first bytes or its checksum are wrong")
    reader = Reader(body)
    reader.take(len(MAGIC))
    try:
        records = [_record(reader) for _ in range(reader.uint(4))]
        reader.finish()
    except (DecodeError, UnicodeDecodeError) as error:
        raise SpoolError(f"not a block of a spool: {error}") from error
    if not records:
        raise SpoolError("a block must hold at least one record")
    return records


def _record(reader: Reader) -> Spooled:
    collection = reader.opaque(1, 1, _MAX_COLLECTION).decode()
    return Spooled(collection, reader.opaque(4, 1, _MAX_REPORT))
