"""Record: several choices, answered together and reported as one.

An answer is one index. The places of the choices are its digits, the first most significant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import ClassVar, Self

from deniable_shared.domains.choice import MAX_CHOICES
from deniable_shared.domains.labels import bytes_for, check_fields, index_labels, read_labels
from deniable_shared.errors import DomainError, ManifestError

MAX_ATTRIBUTES = 64


@dataclass(frozen=True, slots=True)
class Record:
    """Attributes by name, each with two or more labels.

    Raises ManifestError if they break a rule.
    """

    type: ClassVar[str] = "record"
    attributes: tuple[tuple[str, tuple[str, ...]], ...]
    _places: dict[str, dict[str, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(name for name, _ in self.attributes)
        index_labels(names, 2, MAX_ATTRIBUTES, of="record attributes'")
        object.__setattr__(
            self,
            "_places",
            {
                name: index_labels(labels, 2, MAX_CHOICES, of=name)
                for name, labels in self.attributes
            },
        )

    @property
    def radices(self) -> tuple[int, ...]:
        """The number of labels of each attribute."""
        return tuple(len(labels) for _, labels in self.attributes)

    @property
    def size(self) -> int:
        """The number of combinations, d."""
        return prod(self.radices)

    @property
    def labels(self) -> tuple[str, ...]:
        """All combinations in the order of the indices, like "os=linux, beta=yes"."""
        names = [name for name, _ in self.attributes]
        return tuple(
            ", ".join(f"{name}={label}" for name, label in zip(names, row, strict=True))
            for row in product(*(labels for _, labels in self.attributes))
        )

    @property
    def topics(self) -> tuple[str, ...]:
        """The attributes, as people read them."""
        return tuple(name for name, _ in self.attributes)

    @property
    def mechanism_parameters(self) -> Mapping[str, int | tuple[int, ...]]:
        """The mechanism's parameters that follow from the domain, if it is made for records."""
        return {"radices": self.radices}

    def encode(self, value: object) -> int:
        """Return the index of a combination, given as {attribute: label, …}.

        Raises DomainError unless the value has a label for each attribute and nothing else.
        """
        if not isinstance(value, Mapping) or value.keys() != self._places.keys():
            raise DomainError(
                f"value must be a mapping with a label for each of the {len(self._places)} "
                "attributes and nothing else"
            )
        index = 0
        for name, indices in self._places.items():
            label = value[name]
            place = indices.get(label, -1) if isinstance(label, str) else -1
            if place < 0:
                raise DomainError(f"value must have one of its {len(indices)} labels for {name}")
            index = index * len(indices) + place
        return index

    def label_indices(self, encoded: int) -> tuple[int, ...]:
        """Return the place of each attribute's label."""
        return mixed_radix_digits(encoded, self.radices)

    def canonical(self, encoded: int) -> bytes:
        """Return the index, big-endian, as wide as the last one: the bytes that key the coins."""
        return encoded.to_bytes(bytes_for(self.size), "big")

    def decode(self, encoded: int) -> dict[str, str]:
        """Return the answer in a manifest's spelling: {attribute: label, …}."""
        digits = zip(self.attributes, self.label_indices(encoded), strict=True)
        return {name: labels[place] for (name, labels), place in digits}

    def to_json(self) -> dict[str, object]:
        """Return the document that `parse_domain` reads."""
        attributes = [{"name": name, "labels": list(labels)} for name, labels in self.attributes]
        return {"type": self.type, "attributes": attributes}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Read what `to_json` returns. Raises ManifestError for anything else."""
        check_fields(document, "type", "attributes")
        attributes = document.get("attributes")
        if not isinstance(attributes, list | tuple):
            raise ManifestError("domain attributes must be a list of {name, labels}")
        return cls(tuple(map(_attribute, attributes)))


def mixed_radix_digits(index: int, radices: Sequence[int]) -> tuple[int, ...]:
    """Return the digits of an index in mixed radix, the first most significant."""
    digits = []
    for radix in reversed(radices):
        index, digit = divmod(index, radix)
        digits.append(digit)
    return tuple(reversed(digits))


def _attribute(document: object) -> tuple[str, tuple[str, ...]]:
    if not isinstance(document, Mapping) or not isinstance(document.get("name"), str):
        raise ManifestError("domain attributes must each be an object with name and labels")
    name = str(document["name"])
    return name, read_labels(document, "name", of=f"attribute {name!r:.80}")
