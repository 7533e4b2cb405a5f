"""The part of a store that opening a service and its housekeeping use."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Maintenance"]


class Maintenance(Protocol):
    """A part of `contract.Store`."""

    @property
    def migrated_from(self) -> str | None:
        """The older schema that opening this store has replaced; None where it replaced none."""
        ...

    def rest(self, *, at_once: bool = False) -> None:
        """Called by each housekeeping tick: what can wait until nothing is written.

        `at_once`: now, without an error where it cannot be done.
        """
        ...

    def lead(self, *, willing: bool = True) -> bool:
        """Whether this process keeps house, of all that share the database; never if not `willing`.

        What the leader does is safe when two do it: a connection can be lost unnoticed.
        """
        ...

    def ping(self) -> None:
        """StoreError where the database does not answer, within a few seconds."""
        ...
