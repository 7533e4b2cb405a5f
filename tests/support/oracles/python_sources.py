"""What Python files say: names, texts, imports and methods, of one parse a file and process."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Method", "Source", "imported", "source_of"]


class Method(NamedTuple):
    """A method, whose class is `owner`."""

    owner: str
    name: str
    documented: bool


class Source(NamedTuple):
    """A file: `listed` is `__all__`, and `imported_names` are those of `from … import …`."""

    documented: bool
    modules: frozenset[str]
    strings: tuple[str, ...]
    classes: tuple[str, ...]
    methods: tuple[Method, ...]
    bound: frozenset[str]
    listed: frozenset[str]
    imported_names: frozenset[str]


@cache
def source_of(path: Path) -> Source:
    """Read and parse a file."""
    tree = ast.parse(path.read_text())
    nodes: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        nodes[type(node)].append(node)
    functions = nodes[ast.FunctionDef] + nodes[ast.AsyncFunctionDef]
    return Source(
        documented=ast.get_docstring(tree) is not None,
        modules=frozenset(imported(nodes[ast.Import] + nodes[ast.ImportFrom])),
        strings=tuple(node.value for node in nodes[ast.Constant] if isinstance(node.value, str)),
        classes=tuple(node.name for node in nodes[ast.ClassDef]),
        methods=tuple(
            Method(owner.name, node.name, ast.get_docstring(node) is not None)
            for owner in nodes[ast.ClassDef]
            for node in owner.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        bound=frozenset(
            (
                *(node.name for node in functions),
                *(node.arg for node in nodes[ast.arg]),
                *(node.id for node in nodes[ast.Name] if isinstance(node.ctx, ast.Store)),
                *(node.attr for node in nodes[ast.Attribute] if isinstance(node.ctx, ast.Store)),
            )
        ),
        listed=frozenset(
            name
            for node in tree.body
            if isinstance(node, ast.Assign) and _is_named(node.targets[0], "__all__")
            for name in ast.literal_eval(node.value)
        ),
        imported_names=frozenset(
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ),
    )


def imported(nodes: list[ast.AST]) -> set[str]:
    """The modules that these statements import."""
    whole = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    return whole | {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
