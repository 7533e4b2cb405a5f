"""Local users: a name, a role, and a scrypt hash. The password itself is not stored.

    scrypt(N = 2^15, r = 8, p = 3), 32 bytes, salt of 16          OWASP's figures for 32 MiB

A guess costs the same for an existing name and for an unknown one.
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
"""Length of a password in characters."""

LOG2_N, R, P = 15, 8, 3
_BYTES = 32
_ROOM = 1 << 26
_AT_ONCE = threading.Semaphore(2)
"""Hashes computed at once. Each takes 32 MiB, so many guesses must not run together."""


class UserStore(Protocol):
    """The part of a store that keeps users."""

    def add_user(self, user: User, *, audit: AuditEntry | None) -> bool:
        """Store a user; returns False and stores nothing if the name is taken."""

    def users(self) -> Sequence[User]:
        """Every user, in the order they were added."""

    def find_user(self, name: str) -> User | None:
        """The user of this name, or None."""

    def remove_user(self, name: str, *, audit: AuditEntry | None) -> bool:
        """Remove user, sessions and links of that name; returns False if there were none."""


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
        """Add a user; False if the name is taken. Raises ValueError for an invalid argument."""
        scope = scope_of(collections)
        User(name, role, scope, "", 0)  # check the arguments before the slow hash
        check_password(password)
        audit = with_details(audit, user=name, role=role, collections=scope)
        user = User(name, role, scope, hash_password(password), int(self._clock()))
        return self._store.add_user(user, audit=audit)

    def recognize(self, name: str, password: str) -> User | None:
        """The user of this name and password, or None."""
        user = self._store.find_user(name) if name.isprintable() else None
        kept = _NOBODY if user is None else user.password
        return user if _matches(password, kept) and user is not None else None

    def list(self) -> Sequence[User]:
        """Every user, in the order they were added."""
        return self._store.users()

    def remove(self, name: str, *, audit: AuditEntry | None) -> bool:
        """Remove password, sessions and unused links of this name, in one transaction.

        Returns False if there were none. A person may sign in again through a provider.
        """
        return self._store.remove_user(name, audit=audit)


def check_password(password: str) -> None:
    """Raises ValueError unless the password has an accepted length; there are no other rules."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ValueError(
            f"password must be {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, "
            f"got {len(password)}"
        )


def hash_password(password: str) -> str:
    """The stored text: "scrypt$15$8$3$salt$output"."""
    cost = Cost(LOG2_N, R, P)
    salt = secrets.token_bytes(16)
    output = cost.output(password, salt)
    return "$".join(
        ["scrypt", str(cost.log2_n), str(cost.r), str(cost.p), *map(_spelled, (salt, output))]
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """scrypt's parameters, stored with each output so that they can be raised later."""

    log2_n: int
    r: int
    p: int

    def output(self, password: str, salt: bytes) -> bytes:
        """The 32-byte hash; equal for all Unicode forms of the same text."""
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
"""A hash that no password has: unknown names are compared with it, at the same cost."""
