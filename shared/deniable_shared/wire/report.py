"""The upload messages of PROTOCOL §4: what a device sends and what the aggregator replies.

    struct { ReportId id; uint32 epoch; uint16 manifest_version; uint8 key_id;
             Extension extensions<0..4096>; } ReportHeader;
    struct { opaque payload<1..24000>; Extension extensions<0..4096>; } Plaintext;   + zero bytes
    struct { ReportHeader header; opaque sealed<1..2^16-1>; } Report;

Every class raises DecodeError for a value that no message can hold, both when read and when built.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from deniable_shared.errors import DecodeError
from deniable_shared.wire.codec import Reader, lp, opaque

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MEDIA_TYPE = "application/vnd.deniable;message=upload-req;version=1"
ERRORS_MEDIA_TYPE = "application/vnd.deniable;message=upload-errors;version=1"
MAX_REPORTS = 1000
MAX_UPLOAD_BYTES = 262_144

_ID_BYTES = 16
_MAX_PAYLOAD = 24_000
_MAX_EXTENSIONS = 4096
_MAX_SEALED = 0xFFFF
_SMALLEST_PLAINTEXT = 64
_FRAME_BYTES = 6
_FIXED = struct.Struct(">16sIHBH")
_UINT16 = struct.Struct(">H")
_EXTENSIONS_AT = _FIXED.size - _UINT16.size
_NO_EXTENSIONS = bytes(_UINT16.size)
_STATUS_BYTES = 17


@dataclass(frozen=True, slots=True)
class Extension:
    """A typed addition. A report with one that its collection does not require is rejected."""

    type: int
    data: bytes

    def __post_init__(self) -> None:
        _check_uint("extension type", self.type, 16)
        _check_length("extension data", self.data, 0, _MAX_EXTENSIONS)

    def encode(self) -> bytes:
        """Return `struct { uint16 type; opaque data<0..4096>; }`."""
        return self.type.to_bytes(2, "big") + opaque(self.data, 2, 0, _MAX_EXTENSIONS)


@dataclass(frozen=True, slots=True)
class ReportHeader:
    """The part of a report that travels in the open, bound to the ciphertext: see `seal_info`."""

    report_id: bytes
    epoch: int
    manifest_version: int
    key_id: int
    extensions: tuple[Extension, ...] = ()

    def __post_init__(self) -> None:
        _check_length("report_id", self.report_id, _ID_BYTES, _ID_BYTES)
        _check_uint("epoch", self.epoch, 32)
        _check_uint("manifest_version", self.manifest_version, 16)
        _check_uint("key_id", self.key_id, 8)
        _check_increasing(self.extensions)

    def encode(self) -> bytes:
        """Return 25 bytes and the extensions."""
        extensions = _encode_extensions(self.extensions)
        fixed = (self.report_id, self.epoch, self.manifest_version, self.key_id)
        return _FIXED.pack(*fixed, len(extensions)) + extensions

    @classmethod
    def decode(cls, data: bytes) -> ReportHeader:
        """Return the header in `data`: the inverse of `encode`."""
        reader = Reader(data)
        report_id, epoch, version, key_id, length = _FIXED.unpack(reader.take(_FIXED.size))
        header = cls(report_id, epoch, version, key_id, _read_extensions(reader, length))
        reader.finish()
        return header


@dataclass(frozen=True, slots=True)
class Report:
    """One sealed answer: HPKE enc ‖ ct with its header."""

    header: ReportHeader
    sealed: bytes

    def __post_init__(self) -> None:
        _check_length("sealed", self.sealed, 1, _MAX_SEALED)

    def encode(self) -> bytes:
        """Return the header, a uint16 length and the sealed bytes."""
        return self.header.encode() + opaque(self.sealed, 2, 1, _MAX_SEALED)


class Frame(NamedTuple):
    """A report of an upload whose header is not decoded yet.

    `header_rest` is the header after its id. It is the same for most reports of a request, so it is
    decoded once for all reports that share it.
    """

    report_id: bytes
    header_rest: bytes
    sealed: bytes

    @property
    def header(self) -> ReportHeader:
        """Return the decoded header. Raises DecodeError if the bytes are no header."""
        return ReportHeader.decode(self.report_id + self.header_rest)


@dataclass(frozen=True, slots=True)
class Plaintext:
    """The sealed part: the randomized payload, padded to one size for the whole collection."""

    payload: bytes
    extensions: tuple[Extension, ...] = ()

    def __post_init__(self) -> None:
        _check_length("payload", self.payload, 1, _MAX_PAYLOAD)
        _check_increasing(self.extensions)

    def encode(self, size: int) -> bytes:
        """Return exactly `size` bytes, with zeros at the end; `size` comes from `padded_size`."""
        extensions = lp(_encode_extensions(self.extensions))
        message = opaque(self.payload, 2, 1, _MAX_PAYLOAD) + extensions
        _check_padded("size", size)
        if len(message) > size:
            raise DecodeError(f"size must be at least {len(message)} bytes here, got {size}")
        return message.ljust(size, b"\0")

    @classmethod
    def decode(cls, data: bytes) -> Plaintext:
        """Return the plaintext.

        Raises DecodeError unless the length is 64·2^k and the padding zero.
        """
        _check_padded("plaintext length", len(data))
        reader = Reader(data)
        payload = reader.opaque(2, 1, _MAX_PAYLOAD)
        extensions = _read_extensions(reader, reader.uint(2))
        padding = reader.rest()
        if padding.count(0) != len(padding):
            raise DecodeError("padding must be zero bytes")
        return cls(payload, extensions)


@dataclass(frozen=True, slots=True)
class ReportStatus:
    """Why one report was rejected: `problems.ReportError`, or a code of a later version."""

    report_id: bytes
    error: int

    def __post_init__(self) -> None:
        _check_length("report_id", self.report_id, _ID_BYTES, _ID_BYTES)
        _check_uint("error", self.error, 8)

    def encode(self) -> bytes:
        """Return 17 bytes."""
        return self.report_id + self.error.to_bytes(1, "big")


def padded_size(payload_size: int, extension_bytes: int = 0) -> int:
    """Return the smallest 64·2^k that holds the payload, 6 bytes of framing and the extensions."""
    wanted = payload_size + _FRAME_BYTES + extension_bytes
    blocks = -(-wanted // _SMALLEST_PLAINTEXT)
    return int(_SMALLEST_PLAINTEXT << (blocks - 1).bit_length())


def seal_info(collection: str, manifest_digest: bytes, header: ReportHeader) -> bytes:
    """Return HPKE `info`, which binds a sealed report to its context.

    Any change prevents opening.
    """
    return _bound_to_collection(collection, manifest_digest) + lp(header.encode())


def seal_info_parts(
    collection: str, manifest_digest: bytes, header_rest: bytes
) -> tuple[bytes, bytes]:
    """Return the bytes of `seal_info` before and after the report id."""
    length = _UINT16.pack(_ID_BYTES + len(header_rest))
    return _bound_to_collection(collection, manifest_digest) + length, header_rest


@lru_cache(maxsize=256)
def _bound_to_collection(collection: str, manifest_digest: bytes) -> bytes:
    return b"".join(map(lp, (b"deniable/1 report", collection.encode(), manifest_digest)))


def encode_upload(reports: Sequence[Report]) -> bytes:
    """Return the body of one request: 1…1,000 reports in at most 256 KiB."""
    _check_count(len(reports))
    body = b"".join(report.encode() for report in reports)
    _check_length("upload", body, 1, MAX_UPLOAD_BYTES)
    return body


def decode_upload(body: bytes) -> list[Report]:
    """Return the reports in `body`: the inverse of `encode_upload`."""
    return [Report(frame.header, frame.sealed) for frame in split_upload(body)]


def split_upload(body: bytes) -> list[Frame]:
    """Return the reports of one request, with their headers as bytes.

    A report is not checked again if the rest of its header and the length of its sealed bytes are
    those of the report before; the two frames then share `header_rest`. Raises DecodeError if a
    length does not fit.
    """
    _check_length("upload", body, 1, MAX_UPLOAD_BYTES)
    frames: list[Frame] = []
    at, end = 0, len(body)
    header_rest = like = b""
    sealed_at = size = 0  # offset from the start of a report
    while at < end and len(frames) <= MAX_REPORTS:
        rest_at = at + _ID_BYTES
        if not like or at + size > end or not body.startswith(like, rest_at):
            length_at = _after(body, at + _EXTENSIONS_AT, 0, _MAX_EXTENSIONS)
            size = _after(body, length_at, 1, _MAX_SEALED) - at
            header_rest, like = body[rest_at:length_at], body[rest_at : length_at + 2]
            sealed_at = length_at + 2 - at
        frames.append(Frame(body[at:rest_at], header_rest, body[at + sealed_at : at + size]))
        at += size
    _check_count(len(frames))
    return frames


def split_report(data: bytes) -> Frame:
    """Return the one report in `data`, as `Report.encode()` wrote it.

    Raises DecodeError for anything else.
    """
    if data.startswith(_NO_EXTENSIONS, _EXTENSIONS_AT):  # the usual case
        sealed_at = _FIXED.size
    else:
        sealed_at = _after(data, _EXTENSIONS_AT, 0, _MAX_EXTENSIONS)
    end = _after(data, sealed_at, 1, _MAX_SEALED)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes left over at byte {end}")
    return Frame(data[:_ID_BYTES], data[_ID_BYTES:sealed_at], data[sealed_at + 2 :])


def _after(body: bytes, at: int, low: int, high: int) -> int:
    """Return the end of the `opaque data<low..high>` whose length is at offset `at`."""
    try:
        (length,) = _UINT16.unpack_from(body, at)
    except struct.error:
        raise DecodeError(f"message ends early: a length was expected at byte {at}") from None
    if not low <= length <= high:
        raise DecodeError(f"length must be {low}…{high} bytes, got {length} at byte {at}")
    end = at + 2 + int(length)
    if end > len(body):
        raise DecodeError(f"message ends early: {length} bytes wanted at byte {at + 2}")
    return end


def encode_errors(statuses: Iterable[ReportStatus]) -> bytes:
    """Return the body of a 200: empty if every report was accepted."""
    body = b"".join(status.encode() for status in statuses)
    _check_length("upload errors", body, 0, _STATUS_BYTES * MAX_REPORTS)
    return body


def decode_errors(body: bytes) -> list[ReportStatus]:
    """Return the statuses in `body`: the inverse of `encode_errors`."""
    _check_length("upload errors", body, 0, _STATUS_BYTES * MAX_REPORTS)
    reader = Reader(body)
    statuses: list[ReportStatus] = []
    while not reader.done:
        statuses.append(ReportStatus(reader.take(_ID_BYTES), reader.uint(1)))
    return statuses


def _encode_extensions(extensions: tuple[Extension, ...]) -> bytes:
    return b"".join(map(Extension.encode, extensions))


def _read_extensions(reader: Reader, length: int) -> tuple[Extension, ...]:
    if length > _MAX_EXTENSIONS:
        raise DecodeError(f"extensions must be at most {_MAX_EXTENSIONS} bytes, got {length}")
    if not length:
        return ()
    inner = Reader(reader.take(length))
    extensions: list[Extension] = []
    while not inner.done:
        extensions.append(Extension(inner.uint(2), inner.opaque(2, 0, _MAX_EXTENSIONS)))
    return tuple(extensions)


def _check_increasing(extensions: tuple[Extension, ...]) -> None:
    if not extensions:
        return
    types = [extension.type for extension in extensions]
    if any(later <= earlier for earlier, later in pairwise(types)):
        raise DecodeError(f"extension types must rise strictly, got {types[:8]}")
    if sum(4 + len(extension.data) for extension in extensions) > _MAX_EXTENSIONS:
        raise DecodeError(f"extensions must be at most {_MAX_EXTENSIONS} bytes together")


def _check_padded(what: str, size: int) -> None:
    blocks, odd = divmod(size, _SMALLEST_PLAINTEXT)
    if odd or blocks < 1 or blocks & (blocks - 1):
        raise DecodeError(f"{what} must be 64, 128, 256, … bytes, got {size}")


def _check_uint(what: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise DecodeError(f"{what} must be 0…{(1 << bits) - 1}, got {value}")


def _check_length(what: str, data: bytes, low: int, high: int) -> None:
    if not low <= len(data) <= high:
        accepted = str(low) if low == high else f"{low}…{high}"
        raise DecodeError(f"{what} must be {accepted} bytes, got {len(data)}")


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_REPORTS:
        raise DecodeError(f"an upload must hold 1…{MAX_REPORTS} reports, got {count}")
