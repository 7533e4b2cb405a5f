"""The app file: the addresses, operator keys and signed manifests that an app ships.

    {"format": "deniable-app/1", "manifests": [DSSE text, …], "trust": ["ed25519:…"],
     "url": ["https://…"]}

The file is trusted because it ships inside the app. Its manifests are verified all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_shared.errors import DecodeError
from deniable_shared.wire.canonical import canonical_json, quote, strict_json

_FORMAT = "deniable-app/1"
_LISTS = ("url", "trust", "manifests")


@dataclass(frozen=True, slots=True)
class AppFile:
    """The service's addresses, the operator's keys, and the envelopes of the manifests."""

    url: tuple[str, ...]
    trust: tuple[str, ...]
    manifests: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Return the text of the file, which ends in a new line."""
        document = {
            "format": _FORMAT,
            "manifests": [envelope.decode("ascii") for envelope in self.manifests],
            "trust": list(self.trust),
            "url": list(self.url),
        }
        return canonical_json(document) + b"\n"

    @staticmethod
    def is_one(data: bytes) -> bool:
        """Whether the bytes look like an app file of any version."""
        return b'"deniable-app/' in data

    @classmethod
    def decode(cls, data: bytes) -> AppFile:
        """Read a file of `deniable collections export --app`. Raises DecodeError for any other."""
        if not data.strip():
            raise DecodeError("it is empty")
        document = strict_json(data)
        if not isinstance(document, dict) or "format" not in document:
            raise DecodeError(f'an app file must be an object with "format": "{_FORMAT}"')
        if document["format"] != _FORMAT:
            raise DecodeError(
                f"the format of an app file must be {_FORMAT}, got {quote(document['format'])}: "
                "a later version may read it"
            )
        url, trust, manifests = (_texts(document, name) for name in _LISTS)
        return cls(url, trust, tuple(text.encode() for text in manifests))


def _texts(document: dict[str, object], name: str) -> tuple[str, ...]:
    texts = document.get(name)
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise DecodeError(f"{name} of an app file must be a list of texts, got {quote(texts)}")
    return tuple(texts)
