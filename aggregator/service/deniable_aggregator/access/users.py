"""Local users: a name, a role, and scrypt's output of a password that nobody keeps.

    scrypt(N = 2^15, r = 8, p = 3), 32 bytes, salt of 16          OWASP's figures for 32 MiB

Whoever guesses pays the same for a name that is there and one that is not.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.access.rows import User
from deniable_aggregator.base.roles import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.manifest.epochs import Clock

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 256
"""In characters."""

LOG2_N, R, P = 15, 8, 3
_BYTES = 32
_ROOM = 1 << 26
_AT_ONCE = threading.Semaphore(2)
"""Each computation takes 32 MiB: a crowd of guesses must not take them all at once."""


class UserStore(Protocol):
    """The part of a store that keeps users."""

    def add_user(self, user: User, *, audit: AuditEntry | None) -> bool:
        """False, and nothing stored, if a user has the name."""

    def users(self) -> Sequence[User]:
        """In the order they were added."""

    def find_user(self, name: str) -> User | None:
        """The user of this name."""

    def remove_user(self, name: str, *, audit: AuditEntry | None) -> bool:
        """With all sessions and links of that name; False where there was none of the three."""


class Users:
    """Adds, recognizes, lists and removes local users."""

    def __init__(self, store: UserStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(
        self,
        name: str,
        role: str,
        password: str,
        *,
        collections: Iterable[str] | None = None,
        audit: AuditEntry | None,
    ) -> bool:
        """False where the name is taken. ValueError for a bad name, role, scope or password."""
        scope = scope_of(collections)
        User(name, role, scope, "", 0)  # its checks come before the long computation
        check_password(password)
        audit = with_details(audit, user=name, role=role, collections=scope)
        user = User(name, role, scope, hash_password(password), int(self._clock()))
        return self._store.add_user(user, audit=audit)

    def recognize(self, name: str, password: str) -> User | None:
        """The user of this name and password."""
        user = self._store.find_user(name) if name.isprintable() else None
        kept = _NOBODY if user is None else user.password
        return user if _matches(password, kept) and user is not None else None

    def list(self) -> Sequence[User]:
        """In the order they were added."""
        return self._store.users()

    def remove(self, name: str, *, audit: AuditEntry | None) -> bool:
        """End everything under this name: password, sessions and unused links, in one transaction.

        False where there was none of them. Whom a provider lets in may sign in again.
        """
        return self._store.remove_user(name, audit=audit)


def check_password(password: str) -> None:
    """ValueError unless it is long enough; nothing else makes a password good."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ValueError(
            f"password must be {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, "
            f"got {len(password)}"
        )


def hash_password(password: str) -> str:
    """What is kept of it: "scrypt$15$8$3$salt$output"."""
    cost = Cost(LOG2_N, R, P)
    salt = secrets.token_bytes(16)
    output = cost.output(password, salt)
    return "$".join(
        ["scrypt", str(cost.log2_n), str(cost.r), str(cost.p), *map(_spelled, (salt, output))]
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """scrypt's parameters, kept beside each output so that they can rise."""

    log2_n: int
    r: int
    p: int

    def output(self, password: str, salt: bytes) -> bytes:
        """32 bytes; the same for every way to write an accented letter."""
        text = unicodedata.normalize("NFC", password).encode("utf-8", "replace")
        with _AT_ONCE:
            return hashlib.scrypt(
                text, salt=salt, n=1 << self.log2_n, r=self.r, p=self.p, maxmem=_ROOM, dklen=_BYTES
            )


def _matches(password: str, stored: str) -> bool:
    if len(password) > LONGEST_PASSWORD:
        return False
    _, log2_n, r, p, salt, expected = stored.split("$")
    output = Cost(int(log2_n), int(r), int(p)).output(password, _read(salt))
    return hmac.compare_digest(output, _read(expected))


def _spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def _read(text: str) -> bytes:
    return base64.urlsafe_b64decode(text)


_NOBODY = f"scrypt${LOG2_N}${R}${P}${_spelled(bytes(16))}${_spelled(bytes(_BYTES))}"
"""Nobody's output: compared with where there is no such user, at the same cost."""
