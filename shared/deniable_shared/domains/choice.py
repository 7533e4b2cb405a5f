"""Choice: exactly one of some labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains.labels import bytes_for, index_labels, read_labels, shown_labels
from deniable_shared.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHOICES = 65_536


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of two or more labels. Raises ManifestError if the labels break a rule."""

    type: ClassVar[str] = "choice"
    labels: tuple[str, ...]
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_positions", index_labels(self.labels, 2, MAX_CHOICES))

    @property
    def size(self) -> int:
        """The number of choices, d."""
        return len(self.labels)

    @property
    def topics(self) -> tuple[str, ...]:
        """The labels, as people read them."""
        return self.labels

    @property
    def mechanism_parameters(self) -> Mapping[str, int | tuple[int, ...]]:
        """Empty: no parameter of the mechanism follows from the domain."""
        return {}

    def encode(self, value: object) -> int:
        """Return the index of a label; an index stays as it is.

        Raises DomainError for anything else.
        """
        if isinstance(value, str):
            index = self._positions.get(value, -1)
        elif isinstance(value, int) and not isinstance(value, bool):
            index = int(value)
        else:
            raise DomainError(f"value must be a label or an index, got {type(value).__name__}")
        if not 0 <= index < self.size:
            raise DomainError(f"value must be one of {shown_labels(self.labels)} or its index")
        return index

    def canonical(self, encoded: int) -> bytes:
        """Return the index, big-endian, as wide as the last one: the bytes that key the coins."""
        return encoded.to_bytes(bytes_for(self.size), "big")

    def decode(self, encoded: int) -> str:
        """Return the answer in a manifest's spelling: its label."""
        return self.labels[encoded]

    def to_json(self) -> dict[str, object]:
        """Return the document that `parse_domain` reads."""
        return {"type": self.type, "labels": list(self.labels)}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Read what `to_json` returns. Raises ManifestError for anything else."""
        return cls(read_labels(document, "type"))
