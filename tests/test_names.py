"""One word, one thing: the glossary's old names do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECTIONS = (ROOT / "docs" / "glossary.md").read_text().split("\n## ")[1:]


def rows(section: str) -> dict[str, str]:
    """Old name → new name."""
    return dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section, re.M))


def names(section: str) -> Iterator[str]:
    """Every module and class of the folders that the heading names."""
    for folder in re.findall(r"`(.+?)`", section.partition("\n")[0]):
        for path in (ROOT / folder).rglob("*.py"):
            yield path.stem.removeprefix("test_")
            tree = ast.walk(ast.parse(path.read_text()))
            yield from (node.name for node in tree if isinstance(node, ast.ClassDef))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition(":")[0])
def test_modules_and_classes_use_the_new_names(section: str) -> None:
    old_to_new, used = rows(section), set(names(section))
    assert old_to_new
    assert old_to_new.keys() & used == set()
    assert set(old_to_new.values()) <= used
