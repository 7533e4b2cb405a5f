"""Two neighbours give releases and refusals equal in every field but the draw; OS entropy alone."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable_central.queries as linear_package
import deniable_central.stability as ptr_package
from deniable_central.queries import (
    Answer,
    Counts,
    OnlineSession,
    SessionDemand,
    Workload,
    mwem,
    plan_online,
    small_db,
)
from deniable_central.release import Release
from deniable_central.samplers import noise, uniform
from deniable_central.stability import (
    propose_quantile,
    propose_test_release,
    sample_aggregate,
    stable_argmax,
    stable_median,
    stable_mode,
    stable_quantile,
    subsample_aggregate,
)
from deniable_shared.errors import DeniableError

Rows = npt.NDArray[np.int64]
Make = Callable[[Rows], Any]

ROWS = np.array([0, 0, 1, 2, 2] * 40)
NEIGHBOUR = np.array([1, 0, 1, 2, 2] + [0, 0, 1, 2, 2] * 39)
WORKLOAD = Workload(np.array([[1, 0, 0], [0, 1, 1]]))


def counts(rows: Rows) -> Counts:
    return Counts.of_rows(rows, domain=3)


def online(rows: Rows) -> Release[Answer]:
    """An answer has no guarantee of its own; it has the session's."""
    data = counts(rows)
    session = OnlineSession.open(data, plan_online(SessionDemand.of(data, queries=1), epsilon="20"))
    return Release(session.ask([1, 0, 0]), session.law, session.guarantee, ())


MECHANISMS: dict[str, Make] = {
    "median": lambda rows: stable_median(rows, epsilon="1", delta="1e-6"),
    "quantile": lambda rows: stable_quantile(rows, Fraction(1, 4), epsilon="1", delta="1e-6"),
    "mode": lambda rows: stable_mode(rows, epsilon="1", delta="1e-6"),
    "argmax": lambda rows: stable_argmax(
        counts(rows).tally, range_sensitivity=2, epsilon="1", delta="1e-6"
    ),
    "ptr": lambda rows: propose_test_release(
        rows,
        answer=lambda r: int(np.median(r)),
        distance=lambda r: propose_quantile(r).distance,
        epsilon="1",
        delta="1e-6",
    ),
    "sample-aggregate": lambda rows: sample_aggregate(
        rows, lambda block: int(block.max()), blocks=20, epsilon="1", delta="1e-6"
    ),
    "subsample": lambda rows: subsample_aggregate(
        rows, lambda block: int(block.max()), size=1, epsilon="4", delta="1e-2"
    ),
    "small-db": lambda rows: small_db(counts(rows), WORKLOAD, epsilon="1", size=4),
    "small-db, drawn": lambda rows: small_db(
        counts(rows), WORKLOAD, epsilon="1", size=4, candidates=9
    ),
    "mwem": lambda rows: mwem(counts(rows), WORKLOAD, epsilon="1"),
    "online": online,
}


UNCOUNTED: list[Make] = [
    lambda rows: small_db(counts(rows), WORKLOAD, epsilon="1", size=4, adjacency="add/remove"),
    lambda rows: stable_mode(rows, epsilon="1", delta="1e-6", adjacency="add/remove"),
]


@pytest.mark.parametrize("name", MECHANISMS)
def test_only_the_draw_tells_two_neighbours_apart(name: str) -> None:
    one, other = MECHANISMS[name](ROWS), MECHANISMS[name](NEIGHBOUR)
    assert dataclasses.replace(one, result=None) == dataclasses.replace(other, result=None)


def test_where_n_is_private_a_row_more_shows_in_no_field() -> None:
    for make in UNCOUNTED:
        one, other = make(ROWS), make(ROWS[1:])
        assert dataclasses.replace(one, result=None) == dataclasses.replace(other, result=None)


REFUSED: dict[str, Make] = {
    "adjacency": lambda rows: stable_median(
        rows, epsilon="1", delta="1e-6", adjacency="add/remove"
    ),
    "floats": lambda rows: stable_mode((rows * 0.5).tolist(), epsilon="1", delta="1e-6"),
    "blocks": lambda rows: sample_aggregate(rows, len, blocks=999, epsilon="1", delta="1e-6"),
    "useless": lambda rows: subsample_aggregate(rows, len, size=100, epsilon="1", delta="1e-6"),
    "enumeration": lambda rows: small_db(counts(rows), WORKLOAD, epsilon="1", size=9999),
    "domain": lambda rows: mwem(Counts(np.bincount(rows, minlength=9)), WORKLOAD, epsilon="1"),
    "rows": lambda rows: online(rows[:1]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_equal_for_two_neighbours(name: str) -> None:
    texts = []
    for rows in (ROWS, NEIGHBOUR):
        with pytest.raises(DeniableError) as refusal:
            REFUSED[name](rows)
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]
    assert len(texts[0]) > 40


def product_modules() -> list[Path]:
    rooms = [Path(str(package.__file__)).parent for package in (linear_package, ptr_package)]
    alone = [Path(str(module.__file__)) for module in (noise, uniform)]
    return [*alone, *(path for room in rooms for path in sorted(room.glob("*.py")))]


def test_no_module_imports_a_seeded_generator_or_logs() -> None:
    refused = {"random", "numpy.random", "secrets", "logging", "print"}
    used = {path.stem: names_of(path) & refused for path in product_modules()}
    assert used
    assert {module: names for module, names in used.items() if names} == {}


def names_of(path: Path) -> set[str]:
    """What a module imports, and its attributes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names
