"""The manifests of this installation: verified once, checked against earlier ones, stored.

Manifests from the app's files and from the aggregator pass the same checks: the operator's
signature, the rules of `deniable_shared.manifest`, only origins that the app was built with, one
body for one (collection, version), and only allowed changes in a newer version.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain, combinations
from typing import TYPE_CHECKING

from deniable_client._state import collection_state
from deniable_client.budget import join_account
from deniable_client.errors import LogForkedError, RefusedError
from deniable_shared.errors import DeniableError, ManifestError
from deniable_shared.manifest.model import MANIFEST_TYPE, Manifest
from deniable_shared.manifest.parser import parse_manifest
from deniable_shared.manifest.rules import check_successor

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

_BODY = "SELECT body FROM manifest WHERE collection = ? AND version = ?"
_TRUST = "SELECT trust FROM manifest WHERE collection = ? ORDER BY version DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Offer:
    """A manifest that was verified and follows its own rules, and the SHA-256 of its envelope."""

    manifest: Manifest
    envelope: bytes


def trust_digest(trust: Sequence[str]) -> bytes:
    """Return a name for a set of trusted keys.

    A signature that was verified for one set says nothing about another.
    """
    return sha256("\n".join(sorted(trust)).encode()).digest()


def read_offer(
    db: sqlite3.Connection | None,
    envelope: bytes,
    *,
    trust: tuple[str, ...],
    origins: tuple[str, ...],
) -> Offer:
    """Return the manifest in a signed envelope. Raises RefusedError if a check fails.

    The SHA-256 of an envelope that was verified before under the same trust is enough: no
    cryptography is loaded. `db` is None while the state cannot be read.
    """
    digest = sha256(envelope).digest()
    verified = db is not None and _is_verified(db, digest, trust_digest(trust))
    try:
        manifest = _parse_unverified(envelope) if verified else _verify(envelope, trust)
    except DeniableError as error:
        raise RefusedError(str(error)) from error
    if not set(manifest.ingest) <= set(origins):
        raise RefusedError(
            f"{manifest.collection}: ingest must be {' or '.join(origins)}, the origin this app "
            f"was built with, got {', '.join(manifest.ingest)}: build the app with that address, "
            "or give the collection the app's (`deniable collections apply --replace`)"
        )
    return Offer(manifest, digest)


def enroll(db: sqlite3.Connection, offer: Offer, trust: Sequence[str], now: float) -> None:
    """Store a manifest, in the caller's transaction, and start its keys.

    Raises RefusedError for a rollback, a change that is not allowed, or what contradicts the
    manifest of a service with another key, and LogForkedError for a second body of a known version.
    """
    manifest = offer.manifest
    try:
        _check_against_stored(db, manifest)
    except (RefusedError, LogForkedError) as error:
        if _is_of_another_key(db, manifest.collection, trust):
            raise RefusedError(
                f"{manifest.collection}: this state file has it from a service with another key: "
                "give each service a state of its own (`state=`), or delete that of a test"
            ) from error
        raise
    _store(db, offer, trust_digest(trust))
    join_account(db, manifest.name, manifest.ledger_group)
    collection_state.join(db, manifest, now)


def newest(db: sqlite3.Connection, trust: bytes, origins: Collection[str]) -> list[Manifest]:
    """Return the newest version of each collection with these keys and only these origins.

    A version that this program cannot read is left out.
    """
    rows = db.execute(
        "SELECT body, max(version) AS version FROM manifest WHERE trust = ?"
        " GROUP BY collection ORDER BY collection",
        (trust,),
    )
    manifests = [_parse_or_none(row["body"]) for row in rows]
    return [each for each in manifests if each and set(each.ingest) <= set(origins)]


def forget_damaged(db: sqlite3.Connection) -> None:
    """Delete stored copies that have changed. The shipped manifest replaces them.

    If only the aggregator has a version, reports of that version wait until it is fetched again.
    """
    rows = db.execute(
        "SELECT rowid, CAST(collection AS BLOB) AS collection, version,"
        " CAST(name AS BLOB) AS name, CAST(digest AS BLOB) AS digest, CAST(body AS BLOB) AS body"
        " FROM manifest"
    )
    damaged = [row["rowid"] for row in rows if not _is_whole(row)]
    db.executemany("DELETE FROM manifest WHERE rowid = ?", [(rowid,) for rowid in damaged])


def required(db: sqlite3.Connection, collection: str, version: int) -> tuple[str, ...]:
    """Return the extensions that reports of a stored manifest carry."""
    return _read_stored(db, collection, version).requires


def ingest(db: sqlite3.Connection, collection: str) -> tuple[str, ...]:
    """Return the origins that may take reports of a collection, by the newest known version.

    Empty if no version is known.
    """
    row = db.execute(
        "SELECT body FROM manifest WHERE collection = ? ORDER BY version DESC LIMIT 1",
        (collection,),
    ).fetchone()
    manifest = _parse_or_none(row[0]) if row else None
    return manifest.ingest if manifest else ()


def _check_against_stored(db: sqlite3.Connection, manifest: Manifest) -> None:
    stored = db.execute(_BODY, (manifest.collection, manifest.version)).fetchone()
    if stored is None:
        _check_order(db, manifest)
    elif bytes(stored["body"]) != manifest.body:
        raise LogForkedError(
            f"{manifest.collection} version {manifest.version} was signed with two different bodies"
        )


def _is_of_another_key(db: sqlite3.Connection, collection: str, trust: Sequence[str]) -> bool:
    """Whether the stored manifest was signed for an app that trusted none of these keys alone.

    An app may trust more keys than before: then it was stored for some of them.
    """
    [(stored,)] = db.execute(_TRUST, (collection,))
    sizes = range(1, len(trust) + 1)
    fewer = chain.from_iterable(combinations(trust, size) for size in sizes)
    return bytes(stored) not in map(trust_digest, fewer)


def _check_order(db: sqlite3.Connection, manifest: Manifest) -> None:
    versions = db.execute(
        "SELECT version FROM manifest WHERE collection = ? ORDER BY version", (manifest.collection,)
    ).fetchall()
    if not versions:
        return
    last = versions[-1][0]
    if manifest.version < last:
        raise RefusedError(
            f"{manifest.collection}: version {manifest.version} is a rollback: "
            f"version {last} is known"
        )
    first, old = (_read_stored(db, manifest.collection, v) for v in (versions[0][0], last))
    try:
        check_successor(old, manifest, first)
    except ManifestError as error:
        raise RefusedError(f"{manifest.collection} version {manifest.version}: {error}") from error


def _store(db: sqlite3.Connection, offer: Offer, trust: bytes) -> None:
    manifest = offer.manifest
    place = (manifest.collection, manifest.version)
    db.execute(
        "INSERT OR REPLACE INTO manifest (collection, version, name, trust, digest, body)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (*place, manifest.name, trust, manifest.digest, manifest.body),
    )
    db.execute(
        "INSERT OR REPLACE INTO verified (envelope, trust, collection, version)"
        " VALUES (?, ?, ?, ?)",
        (offer.envelope, trust, *place),
    )


def _is_verified(db: sqlite3.Connection, envelope: bytes, trust: bytes) -> bool:
    row = db.execute(
        "SELECT count(*) FROM verified WHERE envelope = ? AND trust = ?", (envelope, trust)
    ).fetchone()
    return bool(row[0])


def _is_whole(copy: sqlite3.Row) -> bool:
    if sha256(copy["body"]).digest() != copy["digest"]:
        return False
    manifest = _parse_or_none(copy["body"])
    if manifest is None:  # a later version of the app wrote it, which may come back
        return True
    signed = (manifest.collection.encode(), manifest.version, manifest.name.encode())
    return signed == (copy["collection"], copy["version"], copy["name"])


def _parse_or_none(body: bytes) -> Manifest | None:
    try:
        return _parse(body)
    except DeniableError:
        return None


def _read_stored(db: sqlite3.Connection, collection: str, version: int) -> Manifest:
    [(body,)] = db.execute(_BODY, (collection, version))
    return _parse(bytes(body))


# Both are pure functions of their arguments; the memory only saves work, across clients too.
@lru_cache(maxsize=64)
def _verify(envelope: bytes, trust: tuple[str, ...]) -> Manifest:
    from deniable_shared.wire import dsse

    return _parse(dsse.verify(envelope, payload_type=MANIFEST_TYPE, trusted=trust))


@lru_cache(maxsize=64)
def _parse_unverified(envelope: bytes) -> Manifest:
    from deniable_shared.wire import dsse

    return _parse(dsse.unverified_payload(envelope, payload_type=MANIFEST_TYPE))


@lru_cache(maxsize=64)
def _parse(body: bytes) -> Manifest:
    return parse_manifest(body)
