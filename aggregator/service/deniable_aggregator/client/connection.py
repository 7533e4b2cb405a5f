"""Sends requests to one service and reads what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from deniable_aggregator.client.answers import Answer
from deniable_aggregator.client.errors import UnreachableError, refusal

if TYPE_CHECKING:
    import httpx

Argument = str | int | float | Sequence[str] | None
Arguments = Mapping[str, Argument]
"""Of a query, by the names at the address; None is left out, a sequence is given once for each."""

JSON = "application/json"

Document = TypeVar("Document", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """The one place that sends. `cures`: problem → what helps, for the messages of errors."""

    http: httpx.Client
    address: str
    cures: Mapping[str, str]

    def read(
        self,
        kind: type[Document],
        path: str,
        arguments: Arguments | None = None,
        *,
        accept: str = JSON,
    ) -> Answer[Document]:
        """The answer of a GET."""
        return Answer(self.send("GET", path, arguments, accept=accept), kind, self.address + path)

    def post(
        self,
        kind: type[Document],
        path: str,
        arguments: Arguments | None = None,
        *,
        body: Mapping[str, object] | None = None,
    ) -> Answer[Document]:
        """The answer of a POST; members of the body that are None are left out."""
        json = None if body is None else _without_none(body)
        return Answer(self.send("POST", path, arguments, json=json), kind, self.address + path)

    def send(
        self,
        method: str,
        path: str,
        arguments: Arguments | None = None,
        *,
        accept: str = JSON,
        content_type: str | None = None,
        **content: object,
    ) -> bytes:
        """The body of a successful answer."""
        import httpx

        headers = _without_none({"Accept": accept, "Content-Type": content_type})
        params = _without_none(arguments or {})
        try:
            answer = self.http.request(method, path, params=params, headers=headers, **content)  # type: ignore[arg-type]  # one dict has values of many types
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self.address} did not answer in time: try again") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(
                f"nothing answers at {self.address} ({error}): is the service running?"
            ) from error
        if not answer.is_success:
            raise refusal(answer, self.cures)
        return answer.content


def _without_none(members: Mapping[str, object]) -> dict[str, object]:
    """Those that are not None."""
    return {name: value for name, value in members.items() if value is not None}
