"""Fetches manifests that the app did not ship, and newer versions of those it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deniable_client._uploading.timed_transport import TimedTransport
from deniable_client.address import Address, route
from deniable_client.errors import ClientError, HaltedError, LogForkedError, RefusedError
from deniable_client.outcome import RefreshResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_client._recording.known_collections import KnownCollections
    from deniable_client._state.installation import ConsentGate
    from deniable_client.calls import Calls
    from deniable_client.transport import Transport

_NAME = re.compile(r"[a-z0-9-]{1,64}")


class Refresher:
    """Fetches manifests and hands them to the known collections, which check them."""

    def __init__(
        self,
        collections: KnownCollections,
        transport: Transport,
        *,
        calls: Calls,
        addresses: Sequence[Address],
        gate: ConsentGate,
    ) -> None:
        self._collections = collections
        self._calls = calls
        self._transport = transport
        self._addresses = addresses
        self._gate = gate

    def refresh(self, names: Iterable[str], timeout: float) -> RefreshResult:
        """Fetch the manifest of every known collection and of `names`."""
        transport = TimedTransport(self._transport, self._calls, self._permit, timeout)
        problems: list[ClientError] = []
        for name in sorted({*self._collections.names, *names}):
            problem = self.fetch(name, transport)
            if problem is not None:
                problems.append(problem)
        return RefreshResult(self._collections.names, tuple(problems))

    def fetch(
        self, name_or_id: str, transport: TimedTransport, *, tried: Address | None = None
    ) -> ClientError | None:
        """Fetch one manifest. Returns the error if there is none or it is refused.

        If an address fails, the next one is tried, and `tried` comes last. The returned error is
        that of the first address.
        """
        if not _NAME.fullmatch(name_or_id):
            return RefusedError("a name must be 1…64 characters of a-z, 0-9 and -")
        problems: list[ClientError] = []
        for address in sorted(
            self._ordered_addresses(name_or_id), key=lambda address: address == tried
        ):
            problem = self._fetch_at(address, name_or_id, transport)
            if problem is None or isinstance(problem, HaltedError | LogForkedError):
                return problem
            problems.append(problem)
        return problems[0]

    def _ordered_addresses(self, name_or_id: str) -> tuple[Address, ...]:
        """All addresses; those of the collection, as far as this device knows, come first."""
        manifests = [each.manifest for each in self._collections.prepared]
        named = [each for each in manifests if name_or_id in (each.name, each.collection)]
        return route(self._addresses, [origin for each in named for origin in each.ingest])

    def _fetch_at(
        self, address: Address, name_or_id: str, transport: TimedTransport
    ) -> ClientError | None:
        try:
            return self._collections.add(transport.get(address.manifest(name_or_id)), name_or_id)
        except ClientError as error:
            return error

    def _permit(self) -> None:
        if not self._gate.open():
            raise HaltedError(f"nothing is fetched: {self._gate.pause()}")
