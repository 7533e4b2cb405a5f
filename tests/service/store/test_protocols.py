"""What a store promises is small, and no privileged act is done without a word about its entry."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable_aggregator
from deniable_aggregator.store import protocols

PARTS = (
    protocols.Reports,
    protocols.Collections,
    protocols.Ledger,
    protocols.Sharing,
    protocols.Access,
    protocols.Audit,
    protocols.Maintenance,
)


def methods(protocol: type) -> set[str]:
    return {name for each in protocol.__mro__ for name in vars(each) if not name.startswith("_")}


@pytest.mark.parametrize("protocol", PARTS, ids=lambda each: each.__name__.lower())
def test_a_protocol_has_at_most_20_methods(protocol: type) -> None:
    assert 0 < len(methods(protocol)) <= 20


def test_a_store_is_the_seven_and_each_method_belongs_to_one() -> None:
    assert set(PARTS) < set(protocols.Store.__mro__)
    assert len(methods(protocols.Store)) == sum(len(methods(each)) for each in PARTS)


def takers() -> Iterator[tuple[str, ast.arguments]]:
    """Public functions that take an audit entry, each with its arguments."""
    for path in Path(deniable_aggregator.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "audit" in text else ():
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if any(each.arg == "audit" for each in every):
                    yield f"{path.name}:{node.name}", node.args


@pytest.mark.slow
def test_the_entry_of_an_act_is_never_left_out_by_mistake() -> None:
    """An argument with a default could be forgotten, and the act would leave no entry."""
    found = dict(takers())
    assert len(found) > 40
    for name, arguments in found.items():
        late = dict(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        assert not [each for each, default in late.items() if each.arg == "audit" and default], name
        assert "audit" not in [each.arg for each in arguments.args[::-1][: len(arguments.defaults)]]
