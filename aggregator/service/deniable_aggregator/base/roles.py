"""The five roles, and who somebody turned out to be.

viewer reads estimates, analyst may also spend budget, admin may do everything. Two are for machines
and stand apart: relay may only upload more than one report a request, metrics may only read
`/metrics`. Devices are nobody.
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
    """Whoever made a request: a token or a person's session.

    `collections` are the ids it is limited to, None for all; `source` says by what it was
    recognized ("token 3f9a01c2b4de").
    """

    name: str
    role: str
    collections: tuple[str, ...] | None
    source: str

    def may(self, role: str) -> bool:
        """Whether its role covers `role`."""
        return allows(self.role, role)

    def may_see(self, collection: str) -> bool:
        """Whether its scope has the collection of this id."""
        return self.collections is None or collection in self.collections

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


def allows(role: str, needed: str) -> bool:
    """Whether `role` covers `needed`: viewer < analyst < admin; relay and metrics only themselves.

    What a metrics token reads, an admin may read, too.
    """
    if role == needed:
        return True
    if role not in _RANK or needed not in _RANK:
        return (role, needed) == ("admin", "metrics")
    return _RANK[role] > _RANK[needed]


def checked_role(role: str, accepted: tuple[str, ...] = ROLES) -> None:
    """ValueError unless `role` is one of those accepted."""
    if role not in accepted:
        raise ValueError(f"role must be one of {', '.join(accepted)}, got {role!r}")


def checked_name(argument: str, name: str) -> None:
    """ValueError unless it is short and printable: it is shown in lists and logs."""
    if not (0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable()):
        raise ValueError(
            f"{argument} must be 1 to {MAX_NAME_CHARACTERS} printable characters, "
            f"got {name[: MAX_NAME_CHARACTERS + 1]!r}"
        )


def scope_of(collections: Iterable[str] | None) -> tuple[str, ...] | None:
    """Ids in order, each once; ValueError for a scope of nothing, which is a mistake."""
    if collections is None:
        return None
    scope = tuple(sorted(set(collections)))
    if not 0 < len(scope) <= MAX_SCOPE:
        raise ValueError(f"collections must be 1 to {MAX_SCOPE} ids, got {len(scope)}")
    return scope
