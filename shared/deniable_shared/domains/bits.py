"""Bits: yes-or-no questions, answered together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from deniable_shared.domains.labels import index_labels, pack, read_labels, shown_labels
from deniable_shared.errors import DomainError, ManifestError

MAX_BITS = 4096


@dataclass(frozen=True, slots=True)
class Bits:
    """m yes-or-no questions, answered together. Without a constraint every combination is valid.

    `one_hot`: exactly one yes. `at_most`: no more than that many. With either, two valid answers
    differ in fewer places, so each bit gets a larger share of ε. Raises ManifestError if the labels
    or the constraint break a rule.
    """

    type: ClassVar[str] = "bits"
    labels: tuple[str, ...]
    at_most: int | None = None
    one_hot: bool = False
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", index_labels(self.labels, 1, MAX_BITS))
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
        """The number of bits, m."""
        return len(self.labels)

    @property
    def topics(self) -> tuple[str, ...]:
        """The labels, as people read them."""
        return self.labels

    @property
    def mechanism_parameters(self) -> Mapping[str, int | tuple[int, ...]]:
        """The mechanism's parameters that follow from the domain."""
        return {"distance": self.distance}

    @property
    def distance(self) -> int:
        """The most places in which two valid answers differ; ε is divided by it."""
        ones = 1 if self.one_hot else self.at_most
        return self.size if ones is None else min(2 * ones, self.size)

    def encode(self, value: object) -> tuple[int, ...]:
        """Return m zeros and ones.

        Takes {label: bool, …} with exactly the labels, or a sequence of m bools or 0/1. Raises
        DomainError for anything else.
        """
        items = self._in_order(value)
        if len(items) != self.size:
            raise DomainError(f"value must have {self.size} items, one a label, got {len(items)}")
        for item in items:
            if type(item) not in (bool, int) or not 0 <= item <= 1:
                kind = "another int" if type(item) is int else type(item).__name__
                raise DomainError(f"value must hold only True, False, 1 and 0, got {kind}")
        self._check_constraint(sum(items))
        return tuple(map(int, items))

    def _in_order(self, value: object) -> list[int]:
        if isinstance(value, Mapping):
            if value.keys() != self._positions.keys():
                raise DomainError(
                    f"value must name each of {shown_labels(self.labels)} and nothing else"
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
        """The bits packed, most significant first, zero padded: the bytes that key the coins."""
        size = (self.size + 7) >> 3
        return (pack(encoded) << ((size << 3) - self.size)).to_bytes(size, "big")

    def decode(self, encoded: tuple[int, ...]) -> dict[str, bool]:
        """Return the answer in a manifest's spelling: {label: bool, …} with every label."""
        return dict(zip(self.labels, map(bool, encoded), strict=True))

    def to_json(self) -> dict[str, object]:
        """Return the document that `parse_domain` reads."""
        document: dict[str, object] = {"type": self.type, "labels": list(self.labels)}
        if self.one_hot:
            document["constraint"] = "one-hot"
        if self.at_most is not None:
            document |= {"constraint": "at-most", "at_most": self.at_most}
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Read what `to_json` returns. Raises ManifestError for anything else."""
        if "constraint" not in document:
            return cls(read_labels(document, "type"))
        constraint = document["constraint"]
        if constraint == "one-hot":
            return cls(read_labels(document, "type", "constraint"), one_hot=True)
        if constraint != "at-most":
            raise ManifestError(
                f'domain constraint must be "one-hot" or "at-most", got {constraint!r:.80}'
            )
        labels, at_most = (
            read_labels(document, "type", "constraint", "at_most"),
            document.get("at_most"),
        )
        if type(at_most) is not int:
            raise ManifestError(
                'domain constraint "at-most" needs at_most, the most True in an answer'
            )
        return cls(labels, at_most=at_most)
