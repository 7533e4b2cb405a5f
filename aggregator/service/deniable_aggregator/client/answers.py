"""An answer of the service: as a Struct for programs, as the JSON text it was for `--json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from deniable_aggregator.client.errors import UnreachableError

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
        """The Struct. Raises UnreachableError if the body is none."""
        try:
            return msgspec.json.decode(self.body, type=self.kind)
        except msgspec.DecodeError as error:
            self.json()  # which raises where the body is no JSON object at all
            raise UnreachableError(
                f"{self.address} answered what this version cannot read ({error}): does a service "
                "of another version run there?"
            ) from error

    def json(self) -> dict[str, Any]:
        """The JSON object as it was sent. Raises UnreachableError if the body is none."""
        try:
            document = json.loads(self.body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise UnreachableError(
                f"{self.address} answered something that is no JSON object: is this the "
                "address of a deniable service?"
            )
        return document
