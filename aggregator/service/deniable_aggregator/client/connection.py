"""Sends requests to one service and reads the answers.

An answer is a Struct for programs, and for `--json` the JSON text that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from deniable_aggregator.client.errors import UnreachableError, refusal

if TYPE_CHECKING:
    import httpx


Document = TypeVar("Document", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Document]):
    """The body of a successful answer, and the Struct that a JSON body is read as.

    A newer service may send members that this version does not know: `document` leaves them out,
    `json` keeps them.
    """

    body: bytes
    kind: type[Document]
    address: str

    @property
    def document(self) -> Document:
        """The Struct. Raises UnreachableError if the body is not one."""
        try:
            return msgspec.json.decode(self.body, type=self.kind)
        except msgspec.DecodeError as error:
            self.json()  # raises if the body is not a JSON object at all
            raise UnreachableError(
                f"this version cannot read the answer of {self.address} ({error}): does a service "
                "of another version run there?"
            ) from error

    def json(self) -> dict[str, Any]:
        """The JSON object as it was sent. Raises UnreachableError if the body is not one."""
        try:
            document = json.loads(self.body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise UnreachableError(
                f"{self.address} answered something else than a JSON object: is this the "
                "address of a deniable service?"
            )
        return document


Argument = str | int | float | Sequence[str] | None
Arguments = Mapping[str, Argument]
"""Arguments of a query by name; None is left out, a sequence repeats the argument."""

JSON = "application/json"


@dataclass(frozen=True, slots=True, repr=False)
class Connection:
    """Sends all requests. `cures`: problem → remedy, for the messages of errors."""

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
        """The successful answer of a request. Raises ServiceError or UnreachableError."""
        import httpx

        headers = _without_none({"Accept": accept, "Content-Type": content_type})
        params = _without_none(arguments or {})
        try:
            answer = self.http.request(method, path, params=params, headers=headers, **content)  # type: ignore[arg-type]  # one dict has values of many types
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self.address} did not answer in time: try again") from error
        except httpx.UnsupportedProtocol as error:
            raise UnreachableError(
                f"the address must begin with http:// or https://, got {self.address}"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(
                f"nothing answers at {self.address} ({error}): is the service running?"
            ) from error
        if not answer.is_success:
            raise refusal(answer, self.cures)
        return answer.content


def _without_none(members: Mapping[str, object]) -> dict[str, object]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}
