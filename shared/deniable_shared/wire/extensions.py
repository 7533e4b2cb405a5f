"""Extensions of the sealed plaintext: what a collection may require in every report, as data.

A plaintext carries exactly the extensions that its manifest requires, each of one size. So all
reports of a collection have the same length. A header carries none. Type 2 is reserved for tokens
that cannot be linked to the person who got them: see PROTOCOL §4.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TYPE_AND_LENGTH = 4


@dataclass(frozen=True, slots=True)
class ExtensionKind:
    """One kind: its name in manifests, its type on the wire, the size of its data in bytes.

    `identifies`: the issuer knows whose report it is.
    """

    id: str
    type: int
    data_bytes: int
    identifies: bool


EXTENSIONS: Mapping[str, ExtensionKind] = MappingProxyType(
    {"voucher/1": ExtensionKind("voucher/1", type=1, data_bytes=32, identifies=True)}
)


def encoded_bytes(ids: Iterable[str]) -> int:
    """Return the bytes that these extensions take in a plaintext, type and length included."""
    return sum(_TYPE_AND_LENGTH + EXTENSIONS[extension_id].data_bytes for extension_id in ids)


def identifying(ids: Iterable[str]) -> bool:
    """Whether one of them ends the anonymity of the people who answer."""
    return any(EXTENSIONS[extension_id].identifies for extension_id in ids)
