"""Text: one word or short phrase, without a list of possible answers.

A text is put into Unicode's composed form (NFC), so that two ways to type "é" are one answer.
"""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains.labels import MAX_LABEL_BYTES, check_fields
from deniable_shared.errors import DomainError, ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Text:
    """1 to `max_bytes` bytes of printable UTF-8. Raises ManifestError unless 1 ≤ max_bytes ≤ 64."""

    type: ClassVar[str] = "text"
    labels: ClassVar[tuple[str, ...]] = ()
    max_bytes: int

    def __post_init__(self) -> None:
        if type(self.max_bytes) is not int or not 1 <= self.max_bytes <= MAX_LABEL_BYTES:
            raise ManifestError(
                f"domain max_bytes must be an integer in [1, {MAX_LABEL_BYTES}], "
                f"got {self.max_bytes!r:.40}"
            )

    @property
    def size(self) -> int:
        """The longest answer in bytes; there is no list of answers to count."""
        return self.max_bytes

    @property
    def topics(self) -> tuple[str, ...]:
        """The question's range, as people read it."""
        return (f"a text of at most {self.max_bytes} bytes",)

    @property
    def mechanism_parameters(self) -> Mapping[str, int]:
        """Empty: no parameter of the mechanism follows from the domain."""
        return {}

    def encode(self, value: object) -> bytes:
        """Return the text's composed form in UTF-8.

        Raises DomainError if it is no text or too long.
        """
        if not isinstance(value, str):
            raise DomainError(f"value must be a text, got {type(value).__name__}")
        if len(value) > 4 * self.max_bytes:  # composing never shortens a text by this much
            raise DomainError(f"value must be at most {self.max_bytes} bytes of UTF-8")
        composed = unicodedata.normalize("NFC", value)
        if not composed.isprintable():
            raise DomainError("value must be printable: no control or formatting characters")
        encoded = composed.encode()
        if not 1 <= len(encoded) <= self.max_bytes:
            raise DomainError(f"value must be 1 to {self.max_bytes} bytes of UTF-8")
        return encoded

    def canonical(self, encoded: Sequence[int]) -> bytes:
        """Return the length in one byte, then the text: the bytes that key the coins."""
        return bytes((len(encoded), *encoded))

    def decode(self, encoded: Sequence[int]) -> str:
        """Return the answer in a manifest's spelling: the text."""
        return bytes(encoded).decode()

    def every(self) -> Iterator[bytes]:
        """Yield every encoded answer, shorter ones first. Use it for small `max_bytes` only."""
        for size in range(1, self.max_bytes + 1):
            for text in _of_size(size):
                if is_text(text):
                    yield text

    def to_json(self) -> dict[str, object]:
        """Return the document that `parse_domain` reads."""
        return {"type": self.type, "max_bytes": self.max_bytes}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Read what `to_json` returns. Raises ManifestError for anything else."""
        check_fields(document, "type", "max_bytes")
        size = document.get("max_bytes")
        if type(size) is not int:
            raise ManifestError(f"domain max_bytes must be an integer, got {size!r:.40}")
        return cls(size)


def is_text(encoded: bytes) -> bool:
    """Whether bytes are a possible answer: printable and composed UTF-8."""
    try:
        text = encoded.decode()
    except UnicodeDecodeError:
        return False
    return bool(text) and text.isprintable() and unicodedata.is_normalized("NFC", text)


def _of_size(size: int) -> Iterator[bytes]:
    """Yield every string of characters that is `size` bytes long."""
    if size == 0:
        yield b""
        return
    for character in map(chr, range(sys.maxunicode + 1)):
        if "\ud800" <= character <= "\udfff":
            continue
        head = character.encode()
        if len(head) > size:
            return
        yield from (head + tail for tail in _of_size(size - len(head)))
