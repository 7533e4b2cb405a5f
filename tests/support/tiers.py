"""Which tier a test belongs to: `fast`, the default, or one that `-m` has to name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

__all__ = [
    "asked",
    "by_tier",
    "grid",
    "is_left_out",
    "is_slow_folder",
    "mark",
    "named",
    "rows",
    "thorough",
]

NAMED = {"exhaustive", "long", "spark"}
"""Left out unless `-m` names one of their markers."""
SLOW = {*NAMED, "processes", "slow", "statistical"}
SLOW_FOLDERS = {"browser", "deploy", "journeys", "rehearsals", "statistical"}

_in_fast: set[str] = set()
"""The tests of which the fast tier has its one case."""
T = TypeVar("T")
Chosen: TypeAlias = Collection[Any] | Callable[[Any], bool]

asked: set[str] = set()
"""The markers that `-m` names; tests/conftest.py fills it before any test module is imported."""


def grid(values: Iterable[Any], *, by_default: Chosen, long: Chosen = ()) -> list[Any]:
    """All values of one argument; those not chosen are exhaustive, or of the tier `long`.

    They are left out where `-m` does not name their tier: pytest would make a test of each first.
    """
    return [case for value in values for case in _cases(value, (value,), by_default, long)]


def rows(values: Iterable[tuple[Any, ...]], *, by_default: Chosen, long: Chosen = ()) -> list[Any]:
    """The same, where a value is a tuple of several arguments."""
    return [case for value in values for case in _cases(value, value, by_default, long)]


def by_tier(usual: T, exhaustive: T) -> T:
    """What the default tier takes and what the exhaustive one does, as a number of examples."""
    return exhaustive if thorough() else usual


def thorough() -> bool:
    """Whether the exhaustive tier runs."""
    return "exhaustive" in asked


def mark(item: pytest.Item) -> None:
    """What draws samples is exhaustive; of what starts nothing the first case is fast.

    A property test is in both tiers: the exhaustive one draws more examples. So is what is marked
    `deeper`.
    """
    marks = {each.name for each in item.iter_markers()}
    deeper = thorough() and ("deeper" in marks or _draws_examples(item))
    if deeper or "statistical" in marks:
        item.add_marker("exhaustive")
    if not marks & SLOW and not is_slow_folder(item.path.parent) and not _on_postgres(item):
        test = item.nodeid.partition("[")[0]
        if test not in _in_fast:
            item.add_marker("fast")
            _in_fast.add(test)


def is_left_out(item: pytest.Item) -> bool:
    """Whether it has a marker that must be named and is not; `exhaustive` gives way to others."""
    marks = {each.name for each in item.iter_markers()} & NAMED
    return bool((marks - {"exhaustive"} or marks) - asked)


def named(markexpr: str) -> set[str]:
    """The markers an expression asks for: `not this` and `not (this or that)` ask for nothing."""
    return set(re.findall(r"\w+", re.sub(r"\bnot\s+(\w+|\([^)]*\))", "", markexpr)))


def is_slow_folder(path: Path) -> bool:
    """Whether all tests in it start servers, browsers or builds, or sum up long laws."""
    return path.parent.name == "tests" and path.name in SLOW_FOLDERS


def _draws_examples(item: pytest.Item) -> bool:
    from hypothesis import is_hypothesis_test  # tests/conftest.py imports this module first

    return is_hypothesis_test(getattr(item, "obj", None))


def _on_postgres(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    given = call.params.values() if call is not None else ()
    words = [word for each in given for word in (each if isinstance(each, tuple) else (each,))]
    return any(isinstance(word, str) and word.startswith("postgres") for word in words)


def _cases(value: Any, given: tuple[Any, ...], by_default: Chosen, long: Chosen) -> Iterator[Any]:
    """The value, with the marker of its tier; nothing where that tier does not run."""
    if _chosen(value, by_default):
        yield value
        return
    tier = "long" if _chosen(value, long) else "exhaustive"
    if tier in asked or (tier == "exhaustive" and asked & NAMED):  # it may meet a `long` one
        yield pytest.param(*given, marks=getattr(pytest.mark, tier))


def _chosen(value: object, chosen: Chosen) -> bool:
    return chosen(value) if callable(chosen) else value in chosen
