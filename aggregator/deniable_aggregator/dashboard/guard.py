"""Who looks at a page, and whether they may: the one place where pages meet access control.

So far it is the bearer token of the API, in the header.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import request

from deniable_aggregator.api import operations
from deniable_aggregator.api.operations import service
from deniable_aggregator.auth import allows

__all__ = ["Visitor", "admit", "visitor"]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is known."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether the visitor's role covers `role`."""
        return allows(self.role, role)

    def may_see(self, collection: str) -> bool:
        """Whether the visitor may know of a collection: all of them may know of every one."""
        return bool(collection)


def visitor() -> Visitor | None:
    """Who asks; None for somebody unknown."""
    token = service().tokens.authenticate(request.headers.get("Authorization"))
    return None if token is None else Visitor(token.label, token.role)


def admit(role: str | None) -> None:
    """Raise unauthorized or forbidden unless the visitor's role covers `role`."""
    operations.require(role)
