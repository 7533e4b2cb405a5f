"""The published vectors are read alike in every language."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "vectors"
FILES = sorted(FOLDER.rglob("*.json"))
LARGEST = 2**53 - 1
"""The largest integer up to which a 64-bit float, all that JavaScript has, keeps every one."""


def rounded(text: str) -> list[str]:
    """The bare numbers that JSON.parse of JavaScript rounds, and all that are no integers."""
    seen: list[str] = []
    keep: Callable[[str], None] = seen.append
    json.loads(text, parse_int=keep, parse_float=keep, parse_constant=keep)
    return [number for number in seen if not number.lstrip("-").isdigit() or too_large(number)]


def too_large(number: str) -> bool:
    return abs(int(number)) > LARGEST


def test_there_are_vectors() -> None:
    assert len(FILES) >= 18


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_language_rounds_a_number_of_a_vector(path: Path) -> None:
    found = rounded(path.read_text())
    assert found == [], f"{path.name}: write {found} as strings of decimal digits"


@pytest.mark.parametrize("number", [str(2**53), f"-{2**53}", str(2**64 + 1), "0.1", "1e3", "NaN"])
def test_a_number_that_would_be_rounded_is_found(number: str) -> None:
    assert rounded(f'{{"cases": [{{"bound": {number}}}, {LARGEST}, "{number}"]}}') == [number]
