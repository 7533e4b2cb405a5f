"""Domains: what may be answered, and the one form in which an answer is randomized.

A DomainError never repeats the value: applications log errors, and the value is the secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from deniable_shared.errors import DomainError, ManifestError

__all__ = [
    "MAX_BITS",
    "MAX_CHOICES",
    "MAX_LABEL_BYTES",
    "Bits",
    "Choice",
    "Domain",
    "Value",
    "bytes_for",
    "pack",
    "parse_domain",
    "spelled",
]

Value = object
"""Anything an application may hand in; `encode` decides."""

MAX_BITS = 4096
MAX_CHOICES = 65_536
MAX_LABEL_BYTES = 64

_DIGITS = b"01" + b"x" * 254


def bytes_for(size: int) -> int:
    """Fewest whole bytes that hold every index below `size`."""
    return ((size - 1).bit_length() + 7) >> 3


def pack(bits: Sequence[int]) -> int:
    """Zeros and ones as one integer, the first most significant; else ValueError or TypeError."""
    return int(bytes(bits).translate(_DIGITS), 2)


@dataclass(frozen=True, slots=True)
class Bits:
    """m yes-or-no questions, answered together; by default every combination is valid.

    `one_hot`: exactly one yes. `at_most`: no more than that many. Either makes two valid answers
    differ in fewer places, so that each bit gets a larger share of ε. ManifestError if the labels
    or the constraint break a rule.
    """

    type: ClassVar[str] = "bits"
    labels: tuple[str, ...]
    at_most: int | None = None
    one_hot: bool = False
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", _positions(self.labels, 1, MAX_BITS))
        if self.at_most is None:
            return
        if self.one_hot:
            raise ManifestError("constraint must be one-hot or at-most, got both")
        if type(self.at_most) is not int or not 1 <= self.at_most <= self.size:
            raise ManifestError(
                f"at_most must be an integer in [1, {self.size}], got {self.at_most!r:.40}"
            )

    @property
    def size(self) -> int:
        """Number of bits, m."""
        return len(self.labels)

    @property
    def distance(self) -> int:
        """The most places in which two valid answers differ: ε is split over so many."""
        ones = 1 if self.one_hot else self.at_most
        return self.size if ones is None else min(2 * ones, self.size)

    def encode(self, value: object) -> tuple[int, ...]:
        """m zeros and ones; DomainError for anything but one answer to each question.

        Takes {label: bool, …} naming exactly the labels, or a sequence of m bools or 0/1.
        """
        items = self._in_order(value)
        if len(items) != self.size:
            raise DomainError(f"value must have {self.size} items, one a label, got {len(items)}")
        for item in items:
            if type(item) not in (bool, int) or not 0 <= item <= 1:
                raise DomainError("value must hold only True, False, 1 and 0")
        self._check_constraint(sum(items))
        return tuple(map(int, items))

    def _in_order(self, value: object) -> list[int]:
        if isinstance(value, Mapping):
            if value.keys() != self._positions.keys():
                raise DomainError(
                    f"value must name each of the {self.size} labels and nothing else, "
                    f"{len(self._positions.keys() - value.keys())} are missing"
                )
            return [value[label] for label in self.labels]
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            return list(value)
        raise DomainError(
            f"value must be a mapping from label to bool or a sequence of {self.size} bools, "
            f"got {type(value).__name__}"
        )

    def _check_constraint(self, ones: int) -> None:
        if self.one_hot and ones != 1:
            raise DomainError("value must have exactly one True, as the collection is one-hot")
        if self.at_most is not None and ones > self.at_most:
            raise DomainError(f"value must have at most {self.at_most} True")

    def canonical(self, encoded: tuple[int, ...]) -> bytes:
        """The bits packed, most significant first, zero padded: what keys this answer's coins."""
        size = (self.size + 7) >> 3
        return (pack(encoded) << ((size << 3) - self.size)).to_bytes(size, "big")

    def named(self, encoded: tuple[int, ...]) -> dict[str, bool]:
        """The answer as a manifest spells it: {label: bool, …}, every label named."""
        return dict(zip(self.labels, map(bool, encoded), strict=True))

    def to_json(self) -> dict[str, object]:
        """The document `parse_domain` reads."""
        document: dict[str, object] = {"type": self.type, "labels": list(self.labels)}
        if self.one_hot:
            document["constraint"] = "one-hot"
        if self.at_most is not None:
            document |= {"constraint": "at-most", "at_most": self.at_most}
        return document


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of two or more labels. ManifestError if the labels break a rule."""

    type: ClassVar[str] = "choice"
    distance: ClassVar[int] = 1
    labels: tuple[str, ...]
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", _positions(self.labels, 2, MAX_CHOICES))

    @property
    def size(self) -> int:
        """Number of choices, d."""
        return len(self.labels)

    def encode(self, value: object) -> int:
        """The index of a label, or the index itself; DomainError for anything else."""
        if isinstance(value, str):
            index = self._positions.get(value, -1)
        elif isinstance(value, int) and not isinstance(value, bool):
            index = int(value)
        else:
            raise DomainError(f"value must be a label or an index, got {type(value).__name__}")
        if not 0 <= index < self.size:
            raise DomainError(f"value must be one of the {self.size} labels or the index of one")
        return index

    def canonical(self, encoded: int) -> bytes:
        """The index, big-endian, as wide as the last one: what keys this answer's coins."""
        return encoded.to_bytes(bytes_for(self.size), "big")

    def named(self, encoded: int) -> str:
        """The answer as a manifest spells it: its label."""
        return self.labels[encoded]

    def to_json(self) -> dict[str, object]:
        """The document `parse_domain` reads."""
        return {"type": self.type, "labels": list(self.labels)}


Domain = Bits | Choice


def spelled(domain: Domain, value: object) -> object:
    """A value in the one spelling a manifest has for it; DomainError unless it is one."""
    if isinstance(domain, Bits):
        return domain.named(domain.encode(value))
    return domain.named(domain.encode(value))


def parse_domain(document: object) -> Domain:
    """Read a domain from a manifest; ManifestError for anything the rules do not name."""
    if not isinstance(document, Mapping):
        raise ManifestError(f"domain must be an object, got {type(document).__name__}")
    kind = document.get("type")
    if kind == "bits":
        return _parse_bits(document)
    if kind == "choice":
        return Choice(_labels(document))
    raise ManifestError(f'domain type must be "bits" or "choice" in this version, got {kind!r:.80}')


def _parse_bits(document: Mapping[str, object]) -> Bits:
    if "constraint" not in document:
        return Bits(_labels(document))
    constraint = document["constraint"]
    if constraint == "one-hot":
        return Bits(_labels(document, "constraint"), one_hot=True)
    if constraint != "at-most":
        raise ManifestError(
            f'domain constraint must be "one-hot" or "at-most", got {constraint!r:.80}'
        )
    labels, at_most = _labels(document, "constraint", "at_most"), document.get("at_most")
    if type(at_most) is not int:
        raise ManifestError('domain constraint "at-most" needs at_most, the most True in an answer')
    return Bits(labels, at_most=at_most)


def _labels(document: Mapping[str, object], *others: str) -> tuple[str, ...]:
    for name in document:
        if name not in ("type", "labels", *others):
            raise ManifestError(f"domain must have no field {name!r:.80} here")
    labels = document.get("labels")
    if not isinstance(labels, list | tuple):
        raise ManifestError("domain labels must be a list of texts")
    return tuple(labels)


def _positions(labels: object, low: int, high: int) -> dict[str, int]:
    if not isinstance(labels, tuple) or not low <= len(labels) <= high:
        raise ManifestError(f"domain labels must be a tuple of {low} to {high:,} texts")
    for label in labels:
        if not isinstance(label, str) or not _fits(label):
            raise ManifestError(
                f"domain labels must each be 1 to {MAX_LABEL_BYTES} bytes of printable UTF-8, "
                f"got {label!r:.80}"
            )
    positions = {label: index for index, label in enumerate(labels)}
    if len(positions) != len(labels):
        raise ManifestError("domain labels must differ from each other")
    return positions


def _fits(label: str) -> bool:
    return label.isprintable() and 1 <= len(label.encode()) <= MAX_LABEL_BYTES
