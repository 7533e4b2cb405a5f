"""What lint owes a reader and no linter asks for: docstrings of methods, reasons of exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PRODUCT = ("aggregator", "client", "shared")


class Method(NamedTuple):
    place: str
    owner: str
    name: str
    documented: bool


def methods_of(path: Path) -> Iterator[Method]:
    place = str(path.relative_to(ROOT))
    for owner in ast.walk(ast.parse(path.read_text())):
        if isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    documented = ast.get_docstring(node) is not None
                    yield Method(place, owner.name, node.name, documented)


def test_a_public_method_is_documented_or_implements_one_that_is() -> None:
    """Ruff's D102 wants a text at each implementation, too: here one of that name is enough."""
    paths = [path for folder in PRODUCT for path in (ROOT / folder).rglob("deniable_*/**/*.py")]
    methods = [method for path in paths for method in methods_of(path)]
    documented = {method.name for method in methods if method.documented}
    silent = [
        f"{place}: {owner}.{name}"
        for place, owner, name, _ in methods
        if not owner.startswith("_") and not name.startswith("_") and name not in documented
    ]
    assert silent == []
