"""The plain format of a block: records one after the other, and a checksum.

    struct { opaque collection<1..64>; opaque report<1..2^17>; } Record;   /* `Report.encode()` */
    struct { opaque magic[17]; uint32 count; Record records[count]; opaque sha256[32]; } Block;

Lengths are a uint8 and a uint32. The checksum covers all bytes before it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_gateway.errors import SpoolError
from deniable_shared.wire.codec import opaque

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"deniable spool/1\n"
MAX_RECORDS = 100_000
"""The most records of one block."""

_CHECKSUM_BYTES = 32
_UINT32 = struct.Struct(">I")
_MAX_COLLECTION = 64
_MAX_REPORT = 1 << 17


@dataclass(frozen=True, slots=True)
class SpooledReport:
    """One report, sealed and encoded as it came, and the id of its collection."""

    collection: str
    report: bytes

    def __post_init__(self) -> None:
        name, report = len(self.collection.encode()), len(self.report)
        if not (1 <= name <= _MAX_COLLECTION and 1 <= report <= _MAX_REPORT):
            raise SpoolError(
                f"collection and report must be 1…{_MAX_COLLECTION} and 1…{_MAX_REPORT} bytes "
                f"long, got {name} and {report}"
            )

    def encode(self) -> bytes:
        """Return one record."""
        name = opaque(self.collection.encode(), 1, 1, _MAX_COLLECTION)
        return name + opaque(self.report, 4, 1, _MAX_REPORT)


def encode_block(records: Sequence[SpooledReport]) -> bytes:
    """Return the bytes of a block, in this order.

    Raises SpoolError unless 1…MAX_RECORDS records.
    """
    if not 1 <= len(records) <= MAX_RECORDS:
        raise SpoolError(f"a block must hold 1…{MAX_RECORDS} records, got {len(records)}")
    body = b"".join([MAGIC, len(records).to_bytes(4, "big"), *map(SpooledReport.encode, records)])
    return body + sha256(body).digest()


def decode_block(data: bytes) -> list[SpooledReport]:
    """Return the records in `data`: the inverse of `encode_block`. Raises SpoolError if damaged."""
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if not body.startswith(MAGIC) or sha256(body).digest() != checksum:
        raise SpoolError("not a whole block of a spool: its first bytes or its checksum are wrong")
    try:
        records = list(_records(body))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise SpoolError(f"not a block of a spool: {error}") from error
    if not records:
        raise SpoolError("a block must hold at least one record")
    return records


def _records(body: bytes) -> Iterator[SpooledReport]:
    """Yield the records. Runs once for each report, so it reads lengths in place."""
    names: dict[bytes, str] = {}
    (count,) = _UINT32.unpack_from(body, len(MAGIC))
    at = len(MAGIC) + _UINT32.size
    for _ in range(count):
        report_at = at + 1 + body[at] + _UINT32.size
        (size,) = _UINT32.unpack_from(body, report_at - _UINT32.size)
        name, at = body[at + 1 : report_at - _UINT32.size], report_at + size
        if name not in names:
            names[name] = name.decode()
        yield SpooledReport(names[name], body[report_at:at])
    if at != len(body):
        raise SpoolError(f"not a block of a spool: {count} records end at byte {at}")
