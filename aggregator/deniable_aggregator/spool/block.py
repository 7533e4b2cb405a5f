"""The format of the spool: one file a block, written once, whole or not at all.

    struct { opaque collection<1..64>; opaque report<1..2^17>; } Record;   /* `Report.encode()` */
    struct { opaque magic[17]; uint32 count; Record records[count]; opaque sha256[32]; } Block;

Lengths are a uint8 and a uint32; the checksum is over all that precedes it. A block is written
beside its place under a name that readers skip, synced, renamed, and its directory synced: after
`write_block` a power cut loses nothing. Names are random, records are shuffled and the times of the
file are set to 0, so a block says neither when nor in which order its reports came.
"""

from __future__ import annotations

import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from deniable_aggregator.errors import SpoolError
from deniable_shared.codec import opaque

__all__ = [
    "MAX_RECORDS",
    "SUFFIX",
    "UNRELAYED",
    "Spooled",
    "blocks",
    "decode_block",
    "encode_block",
    "read_block",
    "write_block",
]

MAGIC = b"deniable spool/1\n"
SUFFIX = ".block"
MAX_RECORDS = 100_000
"""Most records of one block."""

UNRELAYED = (
    "relay_batch must be 0 where a spool is opened: a block does not say whether its reports came "
    "through a relay"
)
"""Why nothing can be promised of a relay's batches where reports come by a spool."""

_CHECKSUM_BYTES = 32
_UINT32 = struct.Struct(">I")
_MAX_COLLECTION = 64
_MAX_REPORT = 1 << 17
_random = secrets.SystemRandom()


@dataclass(frozen=True, slots=True)
class Spooled:
    """One report as it came, sealed and encoded, and the id of the collection it is for."""

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
    try:
        records = list(_records(body))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise SpoolError(f"not a block of a spool: {error}") from error
    if not records:
        raise SpoolError("a block must hold at least one record")
    return records


def write_block(directory: Path, records: Iterable[Spooled]) -> Path:
    """Write a block of these records, shuffled; on disk once this returns."""
    shuffled = list(records)
    _random.shuffle(shuffled)
    name = secrets.token_hex(16)
    draft = directory / f".{name}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encode_block(shuffled))
        file.flush()
        os.utime(file.fileno(), (0, 0))
        os.fsync(file.fileno())
    path = directory / f"{name}{SUFFIX}"
    draft.rename(path)
    _sync(directory)
    return path


def read_block(path: Path) -> list[Spooled]:
    """The records of a block; SpoolError, naming the file, for a damaged one."""
    try:
        return decode_block(path.read_bytes())
    except SpoolError as error:
        raise SpoolError(f"{path}: {error}") from error


def blocks(directory: Path) -> list[Path]:
    """The whole blocks of a spool, by name, which is random."""
    return sorted(path for path in directory.glob(f"*{SUFFIX}") if not path.name.startswith("."))


def _records(body: bytes) -> Iterator[Spooled]:
    """Once for each report of a large spool: so it reads lengths where they stand."""
    names: dict[bytes, str] = {}
    (count,) = _UINT32.unpack_from(body, len(MAGIC))
    at = len(MAGIC) + _UINT32.size
    for _ in range(count):
        report_at = at + 1 + body[at] + _UINT32.size
        (size,) = _UINT32.unpack_from(body, report_at - _UINT32.size)
        name, at = body[at + 1 : report_at - _UINT32.size], report_at + size
        if name not in names:
            names[name] = name.decode()
        yield Spooled(names[name], body[report_at:at])
    if at != len(body):
        raise SpoolError(f"not a block of a spool: {count} records end at byte {at}")


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
