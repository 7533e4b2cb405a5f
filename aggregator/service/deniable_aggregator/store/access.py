"""Tokens, users, sessions and one-time links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.access.rows import LinkRow, SessionRow, Token, User
from deniable_aggregator.access.sessions import SHARED, shared_via
from deniable_aggregator.store import audit_log
from deniable_aggregator.store.common_tables import CommonTables
from deniable_aggregator.store.statements import Rows, Statements, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable

_FIND_TOKEN = "select id, role, label, hash, created, expires, revoked, collections from tokens"  # noqa: S105  (SQL, not a secret)
_FIND_USER = "select name, role, collections, password, created from users"
_FIND_SESSION = "select id, hash, name, role, collections, via, created, expires from sessions"
_FIND_LINK = "select hash, name, role, collections, expires from sign_in_links"
_ADD_TOKEN = """
insert into tokens (id, role, label, hash, created, expires, revoked, collections)
values (?, ?, ?, ?, ?, ?, ?, ?)"""  # noqa: S105  (SQL, not a secret)
_REVOKE_TOKEN = "update tokens set revoked = coalesce(revoked, ?) where id = ?"  # noqa: S105  (SQL, not a secret)
_VALID_LINK = "select 1 from tokens where revoked is null and 'shared ' || id = ?"
_ADD_USER = """
insert into users (name, role, collections, password, created) values (?, ?, ?, ?, ?)
on conflict do nothing"""
_ADD_SESSION = """
insert into sessions (id, hash, name, role, collections, via, created, expires)
values (?, ?, ?, ?, ?, ?, ?, ?)"""
_ADD_LINK = """
insert into sign_in_links (hash, name, role, collections, expires) values (?, ?, ?, ?, ?)"""


Scoped = TypeVar("Scoped", Token, User, SessionRow, LinkRow)


class AccessTables(CommonTables):
    """See `protocols.Access`."""

    def add_token(self, token: Token, *, audit: AuditEntry | None) -> None:
        row = (token.id, token.role, token.label, token.hash, token.created)
        with self._connections.write() as db:
            db.execute(
                _ADD_TOKEN, (*row, token.expires, token.revoked, _spelled(token.collections))
            )
            audit_log.append(db, audit)

    def tokens(self) -> list[Token]:
        with self._connections.read() as db:
            return _scoped(Token, db.execute(f"{_FIND_TOKEN} order by rowid"))

    def revoke_token(self, token_id: str, now: float, *, audit: AuditEntry | None) -> bool:
        with self._connections.write() as db:
            revoked = bool(db.execute(_REVOKE_TOKEN, (int(now), token_id)).rowcount)
            if revoked:
                db.execute("delete from sessions where via = ?", (shared_via(token_id),))
                audit_log.append(db, audit)
        return revoked

    def find_token(self, token_hash: bytes) -> Token | None:
        with self._connections.read() as db:
            rows = _scoped(Token, db.execute(f"{_FIND_TOKEN} where hash = ?", (token_hash,)))
        return rows[0] if rows else None

    def add_user(self, user: User, *, audit: AuditEntry | None) -> bool:
        row = (user.name, user.role, _spelled(user.collections), user.password, user.created)
        return self._changes(_ADD_USER, row, audit)

    def users(self) -> list[User]:
        with self._connections.read() as db:
            return _scoped(User, db.execute(f"{_FIND_USER} order by rowid"))

    def find_user(self, name: str) -> User | None:
        with self._connections.read() as db:
            rows = _scoped(User, db.execute(f"{_FIND_USER} where name = ?", (name,)))
        return rows[0] if rows else None

    def remove_user(self, name: str, *, audit: AuditEntry | None) -> bool:
        with self._connections.write() as db:
            users, sessions, links = (
                db.execute(f"delete from {table} where name = ?", (name,)).rowcount  # noqa: S608  (the names in it are fixed)
                for table in ("users", "sessions", "sign_in_links")
            )
            removed = bool(users or sessions or links)
            if removed:
                audit_log.append(db, with_details(audit, sessions=sessions, links=links))
        return removed

    def add_session(self, row: SessionRow, *, audit: AuditEntry | None) -> bool:
        with self._connections.write() as db:
            user_rows = db.execute("select 1 from users where name = ?", (row.name,)).fetchall()
            if row.via == "password" and not user_rows:
                return False
            if row.via.startswith(SHARED) and not db.execute(_VALID_LINK, (row.via,)).fetchall():
                return False
            _add_session(db, row)
            audit_log.append(db, audit)
        return True

    def sessions(self) -> list[SessionRow]:
        with self._connections.read() as db:
            return _scoped(SessionRow, db.execute(f"{_FIND_SESSION} order by created, id"))

    def find_session(self, session_hash: bytes) -> SessionRow | None:
        with self._connections.read() as db:
            statement = f"{_FIND_SESSION} where hash = ?"
            rows = _scoped(SessionRow, db.execute(statement, (session_hash,)))
        return rows[0] if rows else None

    def end_session(self, session_id: str, *, audit: AuditEntry | None) -> bool:
        return self._changes("delete from sessions where id = ?", (session_id,), audit)

    def add_link(self, row: LinkRow, *, audit: AuditEntry | None) -> None:
        with self._connections.write() as db:
            scope = _spelled(row.collections)
            db.execute(_ADD_LINK, (row.hash, row.name, row.role, scope, row.expires))
            audit_log.append(db, audit)

    def find_link(self, link_hash: bytes) -> LinkRow | None:
        with self._connections.read() as db:
            rows = _scoped(LinkRow, db.execute(f"{_FIND_LINK} where hash = ?", (link_hash,)))
        return rows[0] if rows else None

    def use_link(
        self, link_hash: bytes, session: SessionRow, *, now: float, audit: AuditEntry | None
    ) -> bool:
        delete = "delete from sign_in_links where hash = ? and expires > ?"
        with self._connections.write() as db:
            used = bool(db.execute(delete, (link_hash, int(now))).rowcount)
            if used:
                _add_session(db, session)
                audit_log.append(db, audit)
        return used

    def delete_expired_access(self, now: float) -> None:
        with self._connections.read() as db:
            over = "select 1 from {} where expires <= ? limit 1"
            some = [
                db.execute(over.format(table), (int(now),)).fetchall()
                for table in ("sessions", "sign_in_links")
            ]
        if any(some):
            with self._connections.write() as db:
                db.execute("delete from sessions where expires <= ?", (int(now),))
                db.execute("delete from sign_in_links where expires <= ?", (int(now),))

    def _changes(
        self, statement: str, parameters: tuple[object, ...], audit: AuditEntry | None
    ) -> bool:
        """Run the statement; returns whether it changed a row. If so, adds the audit entry."""
        with self._connections.write() as db:
            changed = bool(db.execute(statement, parameters).rowcount)
            if changed:
                audit_log.append(db, audit)
        return changed


def _add_session(db: Statements, row: SessionRow) -> None:
    scope = _spelled(row.collections)
    db.execute(
        _ADD_SESSION,
        (row.id, row.hash, row.name, row.role, scope, row.via, row.created, row.expires),
    )


def _scoped(make: Callable[..., Scoped], rows: Rows) -> list[Scoped]:
    """Rows that may be limited to collections."""
    return [replace(row, collections=_read(row.collections)) for row in read_rows(make, rows)]


def _spelled(collections: tuple[str, ...] | None) -> str | None:
    return None if collections is None else " ".join(collections)


def _read(spelled: object) -> tuple[str, ...] | None:
    return None if spelled is None else tuple(str(spelled).split())
