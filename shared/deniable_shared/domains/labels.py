"""Labels, the texts that name answers, and the fewest bytes and bits for an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_LABEL_BYTES = 64
MOST_SHOWN = 8

_DIGITS = b"01" + b"x" * 254


def bytes_for(size: int) -> int:
    """Return the fewest whole bytes that hold every index below `size`."""
    return ((size - 1).bit_length() + 7) >> 3


def pack(bits: Sequence[int]) -> int:
    """Return zeros and ones as one integer, the first most significant.

    Raises ValueError or TypeError for anything else.
    """
    return int(bytes(bits).translate(_DIGITS), 2)


def index_labels(labels: object, low: int, high: int, *, of: str = "domain") -> dict[str, int]:
    """Return {label: place} of `low` to `high` different labels.

    Raises ManifestError if the labels break a rule.
    """
    if not isinstance(labels, tuple) or not low <= len(labels) <= high:
        got = f", got {len(labels):,}" if isinstance(labels, tuple) else ""
        raise ManifestError(f"{of} labels must be {low} to {high:,} texts{got}")
    for label in labels:
        if not isinstance(label, str) or not _fits(label):
            raise ManifestError(
                f"{of} labels must each be 1 to {MAX_LABEL_BYTES} bytes of printable UTF-8, "
                f"got {label!r:.80}"
            )
    indices = {label: index for index, label in enumerate(labels)}
    if len(indices) != len(labels):
        twice = next(label for at, label in enumerate(labels) if indices[label] != at)
        raise ManifestError(f"{of} labels must differ from each other, got {twice!r:.80} twice")
    return indices


def shown_labels(labels: Sequence[str]) -> str:
    """Return the first labels, and how many there are if that is more."""
    first = ", ".join(labels[:MOST_SHOWN])
    return first if len(labels) <= MOST_SHOWN else f"{first}, … ({len(labels):,} labels)"


def read_labels(
    document: Mapping[str, object], *others: str, of: str = "domain"
) -> tuple[str, ...]:
    """Return the `labels` of a document whose only other fields are `others`.

    Raises ManifestError if the document is any other.
    """
    check_fields(document, "labels", *others, of=of)
    labels = document.get("labels")
    if not isinstance(labels, list | tuple):
        raise ManifestError(f"{of} labels must be a list of texts")
    return tuple(labels)


def check_fields(document: Mapping[str, object], *allowed: str, of: str = "domain") -> None:
    """Raises ManifestError if the document has a field that is not `allowed`."""
    for name in document:
        if name not in allowed:
            raise ManifestError(
                f"{of} must have no field {name!r:.80} here; known are {', '.join(allowed)}"
            )


def _fits(label: str) -> bool:
    return label.isprintable() and 1 <= len(label.encode()) <= MAX_LABEL_BYTES
