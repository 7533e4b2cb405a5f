"""What Python files say: names, texts, imports and methods, of one parse a file and process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
    nodes = list(ast.walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return Source(
        documented=ast.get_docstring(tree) is not None,
        modules=frozenset(imported(nodes)),
        strings=tuple(
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ),
        classes=tuple(node.name for node in classes),
        methods=tuple(
            Method(owner.name, node.name, ast.get_docstring(node) is not None)
            for owner in classes
            for node in owner.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        bound=frozenset(name for node in nodes if (name := _bound(node)) is not None),
        listed=frozenset(
            name
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
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


def _bound(node: ast.AST) -> str | None:
    """The name of a variable, parameter, field or function."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return None
