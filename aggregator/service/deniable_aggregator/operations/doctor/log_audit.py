"""The checks of `deniable doctor verify-log`: the log is one chain with every signed document.

The database has a head after each entry, and separately the signed documents. The service serves
entries and signs heads. The checks compute all heads again from the entries alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.operations.doctor import Check
from deniable_aggregator.store.opening import open_read_only
from deniable_aggregator.store.schema import READ_VERSION
from deniable_shared.errors import DeniableError, ForkError
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import KeyList, verify_key_list
from deniable_shared.wire.key_succession import check_successor_keys
from deniable_shared.wire.transparency_log import (
    GENESIS,
    LogEntry,
    extend,
    parse_log_page,
    release_entry,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.client.service_client import ServiceClient
    from deniable_aggregator.store.statements import Statements

_LOG = "select position, type, body_hash, head from log order by position"
_MANIFESTS = """
select position, id, version, digest, envelope from manifests
join collections on number = collection order by position"""
_RESULTS = "select position, release, salt, document from results order by position"
_FIRST_WITH_RELEASES = "0002"
_FIRST_WITH_DELETED = "0010"
_DELETED = "select count(*) from deleted_manifests"
_KEY_LISTS = "select position, version, issued, digest, envelope from key_lists order by version"


@dataclass(frozen=True, slots=True)
class Chain:
    """Entries, and the head after each of them; `heads[0]` is that of an empty log."""

    entries: tuple[LogEntry, ...]
    heads: tuple[bytes, ...]

    @classmethod
    def of(cls, entries: Iterable[LogEntry]) -> Chain:
        """The chain of these entries; computes every head."""
        chain_entries, heads = tuple(entries), [GENESIS]
        for entry in chain_entries:
            heads.append(extend(heads[-1], [entry]))
        return cls(chain_entries, tuple(heads))

    @property
    def words(self) -> str:
        """Size and head, in words."""
        return f"{len(self.entries):,} entries end in {self.heads[-1].hex()}"

    def holds(self, position: int, entry: LogEntry) -> bool:
        """Whether that is the entry at `position`, counted from 1."""
        return 1 <= position <= len(self.entries) and self.entries[position - 1] == entry

    def has_head(self, size: int, head: str) -> bool:
        """Whether the first `size` entries lead to that head."""
        return size < len(self.heads) and self.heads[size].hex() == head


def read_database(settings: Settings) -> Chain:
    """The chain of a data directory's database. A service may have it open.

    Raises StoreError if a stored head differs from the computed one.
    """
    with open_read_only(settings) as db:
        rows = db.execute(_LOG).fetchall()
    chain = Chain.of(LogEntry(kind, body_hash) for _, kind, body_hash, _ in rows)
    for place, (position, _, _, head) in enumerate(rows, start=1):
        if position != place or head != chain.heads[place]:
            raise StoreError(f"the log of {settings.data} is broken at entry {place:,}")
    return chain


def read_service(client: ServiceClient) -> Chain:
    """The chain that a service serves, page by page. Raises ForkError if its end does not match."""
    entries: list[LogEntry] = []
    while True:
        page = parse_log_page(client.log_page(len(entries)), first=len(entries))
        entries += page.entries
        if len(entries) >= page.size:
            break
    chain = Chain.of(entries)
    if chain.heads[-1] != page.head:
        raise ForkError(
            f"{client.address} claims that its log ends in {page.head.hex()}, but its {chain.words}"
        )
    return chain


def of_database(settings: Settings, chain: Chain, trust: str) -> Iterator[Check]:
    """Check stored manifests and key lists: each is signed, logged, and follows the one before.

    Also check that every stored release is in the log, hashed with its salt.
    """
    with open_read_only(settings) as db:
        manifests = db.execute(_MANIFESTS).fetchall()
        key_lists = db.execute(_KEY_LISTS).fetchall()
        results = db.execute(_RESULTS).fetchall() if _is_since(db, _FIRST_WITH_RELEASES) else []
        [[deleted]] = db.execute(_DELETED) if _is_since(db, _FIRST_WITH_DELETED) else [[0]]
    errors: dict[str, list[str]] = {"manifests": [], "key lists": []}
    for position, collection, version, digest, envelope in manifests:
        name = f"{collection} version {version}"
        if reason := _manifest_error(chain, position, envelope, trust, digest):
            errors["manifests"].append(f"{name}: {reason}")
    last: KeyList | None = None
    for position, version, issued, _, envelope in key_lists:
        try:
            last = _checked_list(chain, position, envelope, trust, issued, last)
        except DeniableError as error:
            errors["key lists"].append(f"key list {version}: {error}")
    yield from _summary_checks("manifests", len(manifests), errors["manifests"])
    yield from _summary_checks("key lists", len(key_lists), errors["key lists"])
    yield _releases(chain, results)
    kept = {"manifest": len(manifests), "keys": len(key_lists), "release": len(results)}
    yield _completeness(chain, kept, deleted)


def of_service(client: ServiceClient, chain: Chain, trust: str, now: float) -> Iterator[Check]:
    """Check that the published key list and manifests are signed and in the log."""
    try:
        listed = verify_key_list(client.keys(), trusted=[trust], now=now)
        if not chain.has_head(listed.log_size, listed.log_head):
            raise ForkError(
                f"it is signed over a log of {listed.log_size:,} entries that ends in "
                f"{listed.log_head}, but the published log does not"
            )
        yield Check("ok", "key list", f"version {listed.version} is signed over this log")
    except DeniableError as error:
        yield Check("fail", "key list", f"of {client.address}: {error}")
    rows = client.collections(archived=True).document.collections
    errors = []
    for row in rows:
        if reason := _manifest_error(chain, None, client.manifest(row.collection), trust, None):
            errors.append(f"{row.collection}: {reason}")
    yield from _summary_checks("published", len(rows), errors)


def compare_chains(kept: Chain, served: Chain) -> Check:
    """Whether one of two logs continues the other."""
    size = min(len(kept.entries), len(served.entries))
    if kept.heads[size] != served.heads[size]:
        first = next(n for n in range(size + 1) if kept.heads[n] != served.heads[n])
        return Check("fail", "one log", f"database and service differ from entry {first:,} on")
    return Check("ok", "one log", f"database and service share their first {size:,} entries")


def _is_since(db: Statements, version: str) -> bool:
    """Whether the database has at least that schema."""
    return db.execute(READ_VERSION).fetchall() >= [(version,)]


def _releases(chain: Chain, results: Iterable[tuple[int, str, bytes, bytes]]) -> Check:
    rows = list(results)
    for position, release, salt, document in rows:
        if not chain.holds(position, release_entry(salt, document)):
            return Check("fail", "releases", f"release {release} is not in the log at its place")
    return Check("ok", "releases", f"{len(rows):,}, each in the log with its salt")


def _manifest_error(
    chain: Chain, position: int | None, envelope: bytes, trust: str, digest: bytes | None
) -> str | None:
    try:
        body = dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=[trust])
        entry = LogEntry("manifest", parse_manifest(body).digest)
    except DeniableError as error:
        return str(error)
    if digest not in (None, entry.body_hash):
        return "its digest does not match its body"
    logged = entry in chain.entries if position is None else chain.holds(position, entry)
    return (
        None if logged else "it is not in the log" + ("" if position is None else " at its place")
    )


def _checked_list(
    chain: Chain, position: int, envelope: bytes, trust: str, issued: int, last: KeyList | None
) -> KeyList:
    key_list = verify_key_list(envelope, trusted=[trust], now=issued)
    if not chain.holds(position, LogEntry("keys", sha256(key_list.encode()).digest())):
        raise ForkError("it is not in the log at its place")
    if key_list.log_size != position - 1 or not chain.has_head(
        key_list.log_size, key_list.log_head
    ):
        raise ForkError(f"it is signed over another log than the first {position - 1:,} entries")
    if last is not None:
        check_successor_keys(last, key_list)
    return key_list


def _completeness(chain: Chain, kept: Mapping[str, int], deleted: int) -> Check:
    """Whether every logged document is stored, except manifests of deleted collections."""
    logged = {kind: sum(entry.type == kind for entry in chain.entries) for kind in kept}
    if logged != {**kept, "manifest": kept["manifest"] + deleted}:
        counts = ", ".join(f"{kept[kind]:,} of {logged[kind]:,} ({kind})" for kind in kept)
        return Check("fail", "bodies", f"some logged documents are missing, stored are: {counts}")
    but = f", except {deleted:,} manifests of deleted collections" if deleted else ""
    return Check("ok", "bodies", f"every logged document is stored{but}")


def _summary_checks(what: str, number: int, errors: list[str]) -> Iterator[Check]:
    for error in errors:
        yield Check("fail", what, error)
    if not errors:
        yield Check("ok", what, f"{number:,}, each signed by the operator and in the log")
