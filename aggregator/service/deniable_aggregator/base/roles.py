"""The five roles, and the identity that a request has.

A viewer reads estimates, an analyst may also spend budget, an admin may do everything. Two roles
are only for machines: relay may upload more than one report a request, metrics may read
`/metrics`. Devices have no identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

RELAY = "relay"
ROLES = ("viewer", "analyst", "admin", RELAY, "metrics")
PEOPLE = ("viewer", "analyst", "admin")
"""Roles that a person can have; relay and metrics are for machines."""

MAX_NAME_CHARACTERS = 64
MAX_SCOPE = 100
_RANK = {"viewer": 1, "analyst": 2, "admin": 3}


@dataclass(frozen=True, slots=True)
class Identity:
    """The token or the person's session that made a request.

    `collections`: ids that it is limited to, None for all. `source`: how it was recognized, like
    "token 3f9a01c2b4de".
    """

    name: str
    role: str
    collections: tuple[str, ...] | None
    source: str

    def may(self, role: str) -> bool:
        """Whether this identity's role covers `role`."""
        return allows(self.role, role)

    def may_see(self, collection: str) -> bool:
        """Whether this identity may see the collection of this id."""
        return self.collections is None or collection in self.collections

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


def allows(role: str, needed: str) -> bool:
    """Whether `role` covers `needed`: viewer < analyst < admin; relay and metrics only themselves.

    An admin may also read what a metrics token reads.
    """
    if role == needed:
        return True
    if role not in _RANK or needed not in _RANK:
        return (role, needed) == ("admin", "metrics")
    return _RANK[role] > _RANK[needed]


def checked_role(role: str, accepted: tuple[str, ...] = ROLES) -> None:
    """Raises ValueError unless `role` is accepted."""
    if role not in accepted:
        raise ValueError(f"role must be one of {', '.join(accepted)}, got {role!r}")


def checked_name(argument: str, name: str) -> None:
    """Raises ValueError unless `name` is short and printable: lists and logs show it."""
    if not (0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable()):
        raise ValueError(
            f"{argument} must be 1 to {MAX_NAME_CHARACTERS} printable characters, "
            f"got {name[: MAX_NAME_CHARACTERS + 1]!r}"
        )


def scope_of(collections: Iterable[str] | None) -> tuple[str, ...] | None:
    """Sorted ids without duplicates, None for all. Raises ValueError for none or too many."""
    if collections is None:
        return None
    scope = tuple(sorted(set(collections)))
    if not 0 < len(scope) <= MAX_SCOPE:
        raise ValueError(f"collections must be 1 to {MAX_SCOPE} ids, got {len(scope)}")
    return scope
