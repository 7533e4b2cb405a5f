"""The published test vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable_shared.domains import Bits, Choice, Number

FOLDER = Path(__file__).parents[2] / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads((FOLDER / name).read_text())["cases"]
    return cases


def domain_of(document: Mapping[str, int]) -> Bits | Choice | Number:
    """The domain of a vector that names only its size.

    As "choices", as "values" of a number, or as "bits" and "at_most".
    """
    if "values" in document:
        return Number(Fraction(0), Fraction(document["values"] - 1), Fraction(1))
    if "choices" in document:
        return Choice(tuple(f"choice {place}" for place in range(document["choices"])))
    labels = tuple(f"bit {place}" for place in range(document["bits"]))
    return Bits(labels, at_most=document.get("at_most"))


def value_of(
    document: Mapping[str, list[int]], domain: Bits | Choice | Number
) -> int | tuple[int, ...]:
    """The encoded value: the places of "yes", or the one choice among them."""
    if not isinstance(domain, Bits):
        return document["yes"][0]
    return tuple(int(place in document["yes"]) for place in range(domain.size))
