"""Fetches manifests an app did not ship, and newer versions of those it did."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deniable_client.address import Address
from deniable_client.calls import Calls
from deniable_client.errors import ClientError, HaltedError, RefusedError
from deniable_client.installation import Gate
from deniable_client.line import Line
from deniable_client.results import RefreshResult
from deniable_client.shelf import Shelf
from deniable_client.transport import Transport

__all__ = ["Refresher"]

_NAME = re.compile(r"[a-z0-9-]{1,64}")


class Refresher:
    """Asks the aggregator for manifests and lets the shelf judge them."""

    def __init__(
        self, shelf: Shelf, transport: Transport, *, calls: Calls, address: Address, gate: Gate
    ) -> None:
        self._shelf = shelf
        self._calls = calls
        self._transport = transport
        self._address = address
        self._gate = gate

    def refresh(self, names: Iterable[str], timeout: float) -> RefreshResult:
        """Ask for every collection known here and for these names."""
        line = Line(self._transport, self._permit, calls=self._calls, seconds=timeout)
        problems: list[ClientError] = []
        for name in sorted({*self._shelf.names, *names}):
            problem = self.fetch(name, line)
            if problem is not None:
                problems.append(problem)
        return RefreshResult(self._shelf.names, tuple(problems))

    def fetch(self, name_or_id: str, line: Line) -> ClientError | None:
        """Ask for one manifest; the reason if there is none or it is refused."""
        if not _NAME.fullmatch(name_or_id):
            return RefusedError("a name must be 1…64 characters of a-z, 0-9 and -")
        try:
            return self._shelf.add(line.get(self._address.manifest(name_or_id)), name_or_id)
        except ClientError as error:
            return error

    def _permit(self) -> None:
        if not self._gate.open():
            raise HaltedError(
                "nothing is fetched without consent, under a denying policy or after a fork"
            )
