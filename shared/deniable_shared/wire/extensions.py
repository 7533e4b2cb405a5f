"""Extensions of the sealed plaintext: what a collection may require of every report, as data.

A plaintext carries exactly the extensions that its manifest requires, each of one size, so that all
reports of a collection stay equally long. A header carries none. Type 2 is kept for tokens that
nobody can link to the person who got them: see PROTOCOL §4.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EXTENSIONS", "ExtensionKind", "encoded_bytes", "identifying"]

_TYPE_AND_LENGTH = 4


@dataclass(frozen=True, slots=True)
class ExtensionKind:
    """One kind: its name in manifests, its type on the wire, how many bytes of data it has.

    `identifies`: who vouches for the report can tell whose it is.
    """

    id: str
    type: int
    data_bytes: int
    identifies: bool


EXTENSIONS: Mapping[str, ExtensionKind] = MappingProxyType(
    {"voucher/1": ExtensionKind("voucher/1", type=1, data_bytes=32, identifies=True)}
)


def encoded_bytes(ids: Iterable[str]) -> int:
    """How many bytes these extensions take in a plaintext, type and length included."""
    return sum(_TYPE_AND_LENGTH + EXTENSIONS[extension_id].data_bytes for extension_id in ids)


def identifying(ids: Iterable[str]) -> bool:
    """Whether any of them ends the anonymity of those who answer."""
    return any(EXTENSIONS[extension_id].identifies for extension_id in ids)
