"""The published test vectors, as any implementation reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable_shared.domain import Bits, Choice

FOLDER = Path(__file__).parent.parent / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads((FOLDER / name).read_text())["cases"]
    return cases


def domain_of(document: Mapping[str, int]) -> Bits | Choice:
    """The domain of a vector that names only its size, as "choices" or as "bits" and "at_most"."""
    if "choices" in document:
        return Choice(tuple(f"choice {place}" for place in range(document["choices"])))
    labels = tuple(f"bit {place}" for place in range(document["bits"]))
    return Bits(labels, at_most=document.get("at_most"))


def value_of(document: Mapping[str, list[int]], domain: Bits | Choice) -> int | tuple[int, ...]:
    """The encoded value: the places of "yes", or the one choice among them."""
    if isinstance(domain, Choice):
        return document["yes"][0]
    return tuple(int(place in document["yes"]) for place in range(domain.size))
