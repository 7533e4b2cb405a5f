"""The operator's log: one chain of hashes over every manifest, key list and release, in order.

    head after an entry = SHA-256(head before ‖ type ‖ body hash)        at first: 32 zero bytes

Heads and hashes have 32 bytes, so the type between them needs no length. Every key list is signed
over (size, head). A reader who has seen one can fetch the entries since then, and check that
today's log continues the earlier one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_shared.errors import DecodeError, ForkError
from deniable_shared.wire.canonical import canonical_json, quote, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GENESIS = bytes(32)
"""The head of an empty log."""

LOG_PAGE = 1_000
"""Most entries in one page."""

_HASH_BYTES = 32
_HEX = re.compile(r"[0-9a-f]{64}")
_TYPE = re.compile(r"[a-z][a-z0-9-]{0,31}")
_MAX_SIZE = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One link: "manifest", "keys" or "release", and the SHA-256 of its body.

    A reader accepts types that it does not know, as the chain covers them, too.
    """

    type: str
    body_hash: bytes

    def __post_init__(self) -> None:
        if not _TYPE.fullmatch(self.type):
            raise DecodeError(
                "type must be 1…32 characters of a-z, 0-9 and -, a letter first, "
                f"got {quote(self.type)}"
            )
        if len(self.body_hash) != _HASH_BYTES:
            raise DecodeError(f"body_hash must be 32 bytes, got {len(self.body_hash)}")


@dataclass(frozen=True, slots=True)
class LogPage:
    """The reply to `GET /v1/log?from=N`: the whole log's size and head, and entries from N on.

    Nothing here is signed. Only the head in a signed key list proves a page.
    """

    size: int
    head: bytes
    entries: tuple[LogEntry, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.size <= _MAX_SIZE:
            raise DecodeError(f"size must be 0…{_MAX_SIZE}, got {self.size}")
        if len(self.head) != _HASH_BYTES:
            raise DecodeError(f"head must be 32 bytes, got {len(self.head)}")
        if len(self.entries) > LOG_PAGE:
            raise DecodeError(
                f"entries must be a list of at most {LOG_PAGE:,}, got {len(self.entries):,}"
            )

    def encode(self) -> bytes:
        """Return the canonical JSON document."""
        return canonical_json(
            {
                "size": self.size,
                "head": self.head.hex(),
                "entries": [[entry.type, entry.body_hash.hex()] for entry in self.entries],
            }
        )


def parse_log_page(data: bytes, *, first: int) -> LogPage:
    """Return the page for from=`first`. Raises DecodeError for any other document.

    Only a page at the log's end is empty, so a reader who continues from the end of a page gets on.
    """
    document = strict_json(data)
    if not isinstance(document, dict) or document.keys() != {"size", "head", "entries"}:
        given = sorted(document) if isinstance(document, dict) else document
        raise DecodeError(f"the fields of the log must be entries, head, size, got {quote(given)}")
    page = LogPage(_size(document), _hash(document["head"], "head"), _entries(document))
    end = first + len(page.entries)
    if end > page.size or (end < page.size and not page.entries):
        raise DecodeError(
            f"entries must be some of those from {first:,} up to size = {page.size:,}, "
            f"got {len(page.entries):,}"
        )
    return page


def release_entry(salt: bytes, document: bytes) -> LogEntry:
    """The entry of a release: SHA-256(salt ‖ document), so that the document cannot be guessed.

    The salt is 32 random bytes. Readers of the release get it with the document.
    """
    if len(salt) != _HASH_BYTES:
        raise DecodeError(f"salt must be {_HASH_BYTES} bytes, got {len(salt)}")
    return LogEntry("release", sha256(salt + document).digest())


def extend(head: bytes, entries: Iterable[LogEntry]) -> bytes:
    """Return the head after more entries."""
    for entry in entries:
        head = sha256(head + entry.type.encode() + entry.body_hash).digest()
    return head


def verify_extension(
    size: int, head: bytes, entries: Sequence[LogEntry], new_size: int, new_head: bytes
) -> None:
    """Raises ForkError unless the new log is the known one with `entries` after it.

    `entries` are those from index `size` up to `new_size`, none if nothing was added.
    """
    if new_size < size:
        raise ForkError(f"the log shrank from {size:,} to {new_size:,} entries")
    if len(entries) != new_size - size:
        raise ForkError(
            f"the log grew from {size:,} to {new_size:,} entries, and {len(entries):,} were sent"
        )
    reached_head = extend(head, entries)
    if reached_head != new_head:
        raise ForkError(
            f"the log of {new_size:,} entries ends in {new_head.hex()}, "
            f"and the known log of {size:,} entries leads to {reached_head.hex()}"
        )


def _size(document: Mapping[str, object]) -> int:
    size = document["size"]
    if type(size) is not int:
        raise DecodeError(f"size must be an integer, got {quote(size)}")
    return size


def _entries(document: Mapping[str, object]) -> tuple[LogEntry, ...]:
    entries = document["entries"]
    if not isinstance(entries, list):
        raise DecodeError(f"entries must be a list of at most {LOG_PAGE:,}, got {quote(entries)}")
    return tuple(map(_entry, entries))


def _entry(pair: object) -> LogEntry:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        raise DecodeError(f"entries must each be [type, hash], got {quote(pair)}")
    return LogEntry(pair[0], _hash(pair[1], "hash"))


def _hash(text: object, what: str) -> bytes:
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise DecodeError(f"{what} must be 64 hex digits, got {quote(text)}")
    return bytes.fromhex(text)
